struct TypingInput: Decodable, Hashable, Sendable {
  var dialogId: String
  var on: Bool
}

struct SetPresenceInput: Decodable, Hashable, Sendable {
  var availability: PresenceBody.Availability
  var status: String?
  /// The dialog that the user looks at; absent: none.
  var activeDialogId: String?
}

struct SyncInput: Decodable, Hashable, Sendable {
  var cursor: String?
  var limit: Int?
  /// Seconds to wait for the first event, 0 to 30.
  var wait: Int?
}

struct HelloInput: Decodable, Hashable, Sendable {
  var token: String
  /// The last durable cursor that the client holds; absent: nothing is replayed.
  var cursor: String?
  var deviceId: String?
}

struct AckInput: Decodable, Hashable, Sendable {
  /// Everything up to here has arrived.
  var cursor: String
}
