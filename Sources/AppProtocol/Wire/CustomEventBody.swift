/// `custom`: something that an app tells the others in a dialog and nobody keeps.
public struct CustomEventBody: Codable, Hashable, Sendable, JSONWritable {
  public var dialogId: String
  /// Where the dialog does not show the caller who its people are: an id that the sender has in this dialog only.
  public var senderId: String
  public var kind: String
  public var payload: RawObject

  public init(dialogId: String, senderId: String, kind: String, payload: RawObject) {
    self.dialogId = dialogId
    self.senderId = senderId
    self.kind = kind
    self.payload = payload
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("dialogId", dialogId)
    writer.member("senderId", senderId)
    writer.member("kind", kind)
    writer.member("payload", payload)
    writer.endObject()
  }
}

public struct CustomEventInput: Codable, Hashable, Sendable {
  public var dialogId: String
  public var kind: String
  /// Absent: an empty object.
  public var payload: RawObject?
  public init(dialogId: String, kind: String, payload: RawObject? = nil) {
    self.dialogId = dialogId
    self.kind = kind
    self.payload = payload
  }
}

public struct EventsInput: Codable, Hashable, Sendable {
  /// The last durable cursor that the client holds; absent: nothing is replayed. The header `Last-Event-ID` comes first.
  public var cursor: String?
  public init(cursor: String? = nil) { self.cursor = cursor }
}
