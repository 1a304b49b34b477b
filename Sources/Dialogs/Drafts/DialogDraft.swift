public import Basics

/// A user's draft of a message in a dialog, private and shared by all their clients.
public struct DialogDraft: Hashable, Sendable {
  /// The text, at most `Limits.textCharactersMax` characters.
  public var text: String
  /// The message to reply to.
  public var replyTo: Position?
  public var updatedAt: Timestamp
  /// The position of the entry that announces the draft.
  public var position: Position

  public init(text: String, replyTo: Position? = nil, updatedAt: Timestamp, position: Position) {
    self.text = text
    self.replyTo = replyTo
    self.updatedAt = updatedAt
    self.position = position
  }
}

/// A draft under its user and dialog.
struct DraftRow {
  let user: UserID
  let dialog: DialogID
  let draft: DialogDraft
}

extension DraftRow: Record {
  enum Field: String, CaseIterable, Sendable {
    case user, dialog, text, replyTo = "reply_to", updatedAt = "updated", position
  }
  static let kind = "drafts"
  static let key: [Field] = [.user, .dialog]
  var fields: [FieldValue] {
    [
      user.field, dialog.field, draft.text.field, draft.replyTo.field, draft.updatedAt.field, draft.position.field,
    ]
  }
  init(_ fields: inout FieldReader) throws {
    user = try fields.next()
    dialog = try fields.next()
    draft = try DialogDraft(
      text: fields.next(), replyTo: fields.next(), updatedAt: fields.next(), position: fields.next())
  }
}

extension RecordReader {
  public func draft(of user: UserID, in dialog: DialogID) throws -> DialogDraft? {
    try record(DraftRow.self, .equal(.user, user), .equal(.dialog, dialog))?.draft
  }
  public func draftCount(of user: UserID) throws -> Int { try count(DraftRow.self, .equal(.user, user)) }
}

extension RecordWriter {
  /// Stores a draft; `nil` deletes it.
  public func put(_ draft: DialogDraft?, of user: UserID, in dialog: DialogID) throws {
    if let draft {
      try put(DraftRow(user: user, dialog: dialog, draft: draft))
    } else {
      try remove(DraftRow.self, .equal(.user, user), .equal(.dialog, dialog))
    }
  }
}
