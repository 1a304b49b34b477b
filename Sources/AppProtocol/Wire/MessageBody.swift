/// A message, the same for every viewer.
public struct MessageBody: Codable, Hashable, Sendable, JSONWritable {
  /// XEP-0359's stanza-id and XEP-0313's archive id of the same message.
  public var id: String
  /// Dense within the dialog, from 1.
  public var seq: Int64
  public var dialogId: String
  public var senderId: String
  /// What the sender's app called it; absent for messages of XMPP clients.
  public var clientId: String?
  public var sentAt: WireTime
  public var content: ContentBody
  public var metadata: RawObject?

  public init(
    id: String, seq: Int64, dialogId: String, senderId: String, clientId: String?, sentAt: WireTime,
    content: ContentBody, metadata: RawObject?
  ) {
    self.id = id
    self.seq = seq
    self.dialogId = dialogId
    self.senderId = senderId
    self.clientId = clientId
    self.sentAt = sentAt
    self.content = content
    self.metadata = metadata
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("id", id)
    writer.member("seq", seq)
    writer.member("dialogId", dialogId)
    writer.member("senderId", senderId)
    writer.member("clientId", clientId)
    writer.member("sentAt", sentAt)
    writer.member("content", content)
    writer.member("metadata", metadata)
    writer.endObject()
  }
}
