struct TypingInput: Decodable, Hashable, Sendable {
  var dialogId: String
  var on: Bool
}

struct SetPresenceInput: Decodable, Hashable, Sendable {
  var availability: PresenceBody.Availability
  var status: String?
  /// The dialog that the user looks at; absent if there is none.
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
  /// The client's last durable cursor; absent to replay nothing.
  var cursor: String?
  var deviceId: String?
}

struct AckInput: Decodable, Hashable, Sendable {
  /// The cursor up to which everything has arrived.
  var cursor: String
}
