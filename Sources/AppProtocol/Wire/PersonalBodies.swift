/// For whom something is deleted.
public enum Audience: String, Codable, Hashable, Sendable { case everyone, me }

/// `dialog.cleared`, durable: the caller has deleted everything in the dialog so far, for themselves.
public struct DialogClearedBody: Codable, Hashable, Sendable, JSONWritable {
  public var dialogId: String
  /// The last message that is gone; absent: there was none.
  public var messageId: String?
  public init(dialogId: String, messageId: String?) {
    self.dialogId = dialogId
    self.messageId = messageId
  }
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("dialogId", dialogId)
    writer.member("messageId", messageId)
    writer.endObject()
  }
}

/// `message.starred`, durable: the caller's own.
public struct MessageStarredBody: Codable, Hashable, Sendable, JSONWritable {
  public var dialogId: String
  public var messageId: String
  public var starred: Bool
  public init(dialogId: String, messageId: String, starred: Bool) {
    self.dialogId = dialogId
    self.messageId = messageId
    self.starred = starred
  }
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("dialogId", dialogId)
    writer.member("messageId", messageId)
    writer.member("starred", starred)
    writer.endObject()
  }
}

/// Names a message of a dialog.
public struct MessageInput: Codable, Hashable, Sendable {
  public var dialogId: String
  public var messageId: String
  public init(dialogId: String, messageId: String) {
    self.dialogId = dialogId
    self.messageId = messageId
  }
}

public struct ClearDialogInput: Codable, Hashable, Sendable {
  public var dialogId: String
  /// `me`.
  public var whom: String
  public init(dialogId: String, whom: String) {
    self.dialogId = dialogId
    self.whom = whom
  }
  private enum CodingKeys: String, CodingKey {
    case dialogId
    case whom = "for"
  }
}

public struct FlagMessageInput: Codable, Hashable, Sendable {
  public var dialogId: String
  public var messageId: String
  /// `spam` or `abuse`.
  public var reason: String
  /// In the caller's words.
  public var text: String?
  public init(dialogId: String, messageId: String, reason: String, text: String? = nil) {
    self.dialogId = dialogId
    self.messageId = messageId
    self.reason = reason
    self.text = text
  }
}

public struct ListStarsInput: Codable, Hashable, Sendable {
  public var cursor: String?
  public var limit: Int?
  public init(cursor: String? = nil, limit: Int? = nil) {
    self.cursor = cursor
    self.limit = limit
  }
}
