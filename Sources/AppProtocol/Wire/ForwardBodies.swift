/// A message to say again.
public struct ForwardFromBody: Codable, Hashable, Sendable {
  public var dialogId: String
  public var messageId: String
  public init(dialogId: String, messageId: String) {
    self.dialogId = dialogId
    self.messageId = messageId
  }
}

/// Where a message was said first, as the server has found it.
public struct ForwardedFromBody: Codable, Hashable, Sendable, JSONWritable {
  /// Absent where readers here need not know.
  public var senderId: String?
  public var sentAt: WireTime
  public init(senderId: String? = nil, sentAt: WireTime) {
    self.senderId = senderId
    self.sentAt = sentAt
  }
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("senderId", senderId)
    writer.member("sentAt", sentAt)
    writer.endObject()
  }
}
