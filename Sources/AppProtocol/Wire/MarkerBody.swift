/// How far one member of a dialog has got: up-to marks, forward only.
public struct MarkerBody: Codable, Hashable, Sendable, JSONWritable {
  public var dialogId: String
  public var userId: String
  /// The last message known to have reached a device of the user.
  public var delivered: String?
  /// The last message that the user has read.
  public var read: String?

  public init(dialogId: String, userId: String, delivered: String?, read: String?) {
    self.dialogId = dialogId
    self.userId = userId
    self.delivered = delivered
    self.read = read
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("dialogId", dialogId)
    writer.member("userId", userId)
    writer.member("delivered", delivered)
    writer.member("read", read)
    writer.endObject()
  }
}
