public import Basics

/// A note of the operators on a user: one text, which replaces the one before.
public struct UserNote: Hashable, Sendable {
  public let user: UserID
  public let text: String
  public let changedAt: Timestamp

  public init(user: UserID, text: String, changedAt: Timestamp) {
    self.user = user
    self.text = text
    self.changedAt = changedAt
  }
}

extension UserNote: Record {
  public enum Field: String, CaseIterable, Sendable { case user, text, changedAt = "changed_at" }
  public static let kind = "user_notes"
  public static let key: [Field] = [.user]
  public var fields: [FieldValue] { [user.field, text.field, changedAt.field] }
  public init(_ fields: inout FieldReader) throws {
    user = try fields.next()
    text = try fields.next()
    changedAt = try fields.next()
  }
}

extension RecordReader {
  /// Returns the operators' note on a user; `nil` if there is none.
  public func note(on user: UserID) throws -> UserNote? { try record(UserNote.self, .equal(.user, user)) }
}
