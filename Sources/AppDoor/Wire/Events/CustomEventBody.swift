import JSON

/// `custom`: something that an app tells the others in a dialog and nobody keeps.
struct CustomEventBody: Hashable, Sendable, JSONObjectWritable {
  var dialogId: String
  /// Where the dialog does not show the caller who its people are: an id that the sender has in this dialog only.
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
  /// Absent: an empty object.
  var payload: RawObject?
}

struct EventsInput: Decodable, Hashable, Sendable {
  /// The last durable cursor that the client holds; absent: nothing is replayed. The header `Last-Event-ID` comes first.
  var cursor: String?
}
