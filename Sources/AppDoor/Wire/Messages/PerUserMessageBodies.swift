import JSON

/// The users for whom something is deleted.
enum Audience: String, Hashable, Sendable { case everyone, me }

/// `dialog.cleared`, durable: the caller has deleted all messages of the dialog so far, for themselves.
struct DialogClearedBody: Hashable, Sendable, JSONObjectWritable {
  var dialogId: String
  /// The last deleted message; absent if there was none.
  var messageId: String?
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("dialogId", dialogId)
    writer.member("messageId", messageId)
  }
}

/// `message.starred`, durable: a change of the caller's stars.
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

/// A reference to a message of a dialog.
struct MessageInput: Decodable, Hashable, Sendable {
  var dialogId: String
  var messageId: String
}

struct ClearDialogInput: Decodable, Hashable, Sendable {
  var dialogId: String
  /// The audience, always `me`.
  var whom: String
  private enum CodingKeys: String, CodingKey {
    case dialogId
    case whom = "for"
  }
}

struct FlagMessageInput: Decodable, Hashable, Sendable {
  var dialogId: String
  var messageId: String
  /// The reason, `spam` or `abuse`.
  var reason: String
  /// The caller's own text.
  var text: String?
  /// Whether the report may be forwarded to the server that the message came from (XEP-0377 3); `false` if not given.
  var mayTellOrigin: Bool?
}

struct ListStarsInput: Decodable, Hashable, Sendable {
  var cursor: String?
  var limit: Int?
}
