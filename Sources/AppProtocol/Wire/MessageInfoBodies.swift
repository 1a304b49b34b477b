/// What a message said at one time.
public struct EditBody: Codable, Hashable, Sendable, JSONWritable {
  public var text: String
  /// When it was said so.
  public var at: WireTime
  public init(text: String, at: WireTime) {
    self.text = text
    self.at = at
  }
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("text", text)
    writer.member("at", at)
    writer.endObject()
  }
}

/// Whether a message has reached one member.
public struct ReceiptBody: Codable, Hashable, Sendable, JSONWritable {
  public var userId: String
  public var delivered: Bool
  public var read: Bool
  /// Where the member's last marker is for this message; else nobody has kept when it was.
  public var deliveredAt: WireTime?
  public var readAt: WireTime?
  public init(
    userId: String, delivered: Bool, read: Bool, deliveredAt: WireTime? = nil, readAt: WireTime? = nil
  ) {
    self.userId = userId
    self.delivered = delivered
    self.read = read
    self.deliveredAt = deliveredAt
    self.readAt = readAt
  }
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("userId", userId)
    writer.member("delivered", delivered)
    writer.member("read", read)
    writer.member("deliveredAt", deliveredAt)
    writer.member("readAt", readAt)
    writer.endObject()
  }
}

public struct MessagePartsInput: Codable, Hashable, Sendable {
  public var dialogId: String
  public var messageId: String
  public var cursor: String?
  public var limit: Int?
  public init(dialogId: String, messageId: String, cursor: String? = nil, limit: Int? = nil) {
    self.dialogId = dialogId
    self.messageId = messageId
    self.cursor = cursor
    self.limit = limit
  }
}
