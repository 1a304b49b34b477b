import JSON

/// For whom something is deleted.
enum Audience: String, Hashable, Sendable { case everyone, me }

/// `dialog.cleared`, durable: the caller has deleted everything in the dialog so far, for themselves.
struct DialogClearedBody: Hashable, Sendable, JSONObjectWritable {
  var dialogId: String
  /// The last message that is gone; absent: there was none.
  var messageId: String?
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("dialogId", dialogId)
    writer.member("messageId", messageId)
  }
}

/// `message.starred`, durable: the caller's own.
struct MessageStarredBody: Hashable, Sendable, JSONObjectWritable {
  var dialogId: String
  var messageId: String
  var starred: Bool
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("dialogId", dialogId)
    writer.member("messageId", messageId)
    writer.member("starred", starred)
  }
}

/// Names a message of a dialog.
struct MessageInput: Decodable, Hashable, Sendable {
  var dialogId: String
  var messageId: String
}

struct ClearDialogInput: Decodable, Hashable, Sendable {
  var dialogId: String
  /// `me`.
  var whom: String
  private enum CodingKeys: String, CodingKey {
    case dialogId
    case whom = "for"
  }
}

struct FlagMessageInput: Decodable, Hashable, Sendable {
  var dialogId: String
  var messageId: String
  /// `spam` or `abuse`.
  var reason: String
  /// In the caller's words.
  var text: String?
}

struct ListStarsInput: Decodable, Hashable, Sendable {
  var cursor: String?
  var limit: Int?
}
