import JSON

/// `custom`: an app's own event in a dialog, which is not stored.
struct CustomEventBody: Hashable, Sendable, JSONObjectWritable {
  var dialogId: String
  /// The sender's id; in a semi-anonymous dialog their id of this dialog only.
  var senderId: String
  var kind: String
  var payload: RawObject

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("dialogId", dialogId)
    writer.member("senderId", senderId)
    writer.member("kind", kind)
    writer.member("payload", payload)
  }
}

struct CustomEventInput: Decodable, Hashable, Sendable {
  var dialogId: String
  var kind: String
  /// The payload; absent for an empty object.
  var payload: RawObject?
}

struct EventsInput: Decodable, Hashable, Sendable {
  /// The client's last durable cursor; absent to replay nothing. The header `Last-Event-ID` precedes it.
  var cursor: String?
}
