public import Basics

/// A hold of the operators on a user or a dialog: nothing of it goes by retention, nor with the account, until the hold
/// is removed. A user's hold is one on all of their private dialogs and on the rooms that they are a member of; in other
/// rooms everything from their first message on stays.
public struct Hold: Hashable, Sendable {
  public enum Subject: Hashable, Sendable {
    case user(UserID)
    /// A private dialog, or a room with its whispers.
    case dialog(DialogID)
  }
  public let subject: Subject
  /// The realm of the user or dialog.
  public let realm: RealmID
  /// The operators' own remark.
  public let note: String?
  public let since: Timestamp

  public init(_ subject: Subject, in realm: RealmID, note: String?, since: Timestamp) {
    self.subject = subject
    self.realm = realm
    self.note = note
    self.since = since
  }
}

extension Hold: Record {
  /// The number of a user or a dialog; the other is 0.
  public enum Field: String, CaseIterable, Sendable { case user, dialog, realm, note, since }
  public static let kind = "holds"
  public static let key: [Field] = [.user, .dialog]
  public var fields: [FieldValue] {
    let (user, dialog): (UserID, DialogID) =
      switch subject {
      case .user(let user): (user, DialogID(0))
      case .dialog(let dialog): (UserID(0), dialog)
      }
    return [user.field, dialog.field, realm.field, note.field, since.field]
  }
  public init(_ fields: inout FieldReader) throws {
    let user: UserID = try fields.next()
    let dialog: DialogID = try fields.next()
    subject = user.number > 0 ? .user(user) : .dialog(dialog)
    realm = try fields.next()
    note = try fields.next()
    since = try fields.next()
  }
}

extension RecordReader {
  /// Returns the holds of a realm, or of all.
  public func holds(in realm: RealmID?) throws -> [Hold] {
    try records(RecordQuery<Hold>(realm.map { [.equal(.realm, $0)] } ?? []))
  }

  /// Returns whether a user is held themselves.
  public func isHeld(_ user: UserID) throws -> Bool {
    try count(RecordQuery<Hold>([.equal(.user, user)])) > 0
  }
}
