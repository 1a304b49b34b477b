public struct TypingInput: Codable, Hashable, Sendable {
  public var dialogId: String
  public var on: Bool
  public init(dialogId: String, on: Bool) {
    self.dialogId = dialogId
    self.on = on
  }
}

public struct SetPresenceInput: Codable, Hashable, Sendable {
  public var availability: PresenceBody.Availability
  public var status: String?
  /// The dialog that the user looks at; absent: none.
  public var activeDialogId: String?
  public init(availability: PresenceBody.Availability, status: String? = nil, activeDialogId: String? = nil) {
    self.availability = availability
    self.status = status
    self.activeDialogId = activeDialogId
  }
}

public struct SyncInput: Codable, Hashable, Sendable {
  public var cursor: String?
  public var limit: Int?
  /// Seconds to wait for the first event, 0 to 30.
  public var wait: Int?
  public init(cursor: String? = nil, limit: Int? = nil, wait: Int? = nil) {
    self.cursor = cursor
    self.limit = limit
    self.wait = wait
  }
}

public struct HelloInput: Codable, Hashable, Sendable {
  public var token: String
  /// The last durable cursor that the client holds; absent: nothing is replayed.
  public var cursor: String?
  public var deviceId: String?
  public init(token: String, cursor: String? = nil, deviceId: String? = nil) {
    self.token = token
    self.cursor = cursor
    self.deviceId = deviceId
  }
}

public struct AckInput: Codable, Hashable, Sendable {
  /// Everything up to here has arrived.
  public var cursor: String
  public init(cursor: String) { self.cursor = cursor }
}
