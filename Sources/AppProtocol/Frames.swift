/// The WebSocket's frames: one JSON object per text message, in either
/// direction. `docs/asyncapi.yaml` describes each; a test compares the lists.

/// The subprotocol that a client must ask for (RFC 6455 1.9).
public let webSocketSubprotocol = "parley.v1"
/// Where the WebSocket is.
public let webSocketPath = "/v1/ws"

/// What a client may say.
public enum CommandName: String, Sendable, CaseIterable {
  case hello
  case ping
  case ack
  case typing
  case presence
  case sendMessage = "message.send"
  case setMarker = "marker.set"
  case custom
  case callSignal = "call.signal"
}

/// What the server says unasked.
public enum EventName: String, Sendable, CaseIterable {
  case ready
  case caughtUp = "caught_up"
  case resync
  case messageCreated = "message.created"
  case messageUpdated = "message.updated"
  case messageDeleted = "message.deleted"
  case markerUpdated = "marker.updated"
  case contactUpdated = "contact.updated"
  case blockUpdated = "block.updated"
  case userUpdated = "user.updated"
  case dialogCreated = "dialog.created"
  case dialogUpdated = "dialog.updated"
  case dialogDeleted = "dialog.deleted"
  case dialogInvited = "dialog.invited"
  case memberUpdated = "member.updated"
  case settingsUpdated = "settings.updated"
  case dialogCleared = "dialog.cleared"
  case messageStarred = "message.starred"
  case typingUpdated = "typing.updated"
  case presenceUpdated = "presence.updated"
  case unreadUpdated = "unread.updated"
  case sessionRevoked = "session.revoked"
  case goAway = "goaway"
  case draftUpdated = "draft.updated"
  case scheduledUpdated = "scheduled.updated"
  case custom
  case callUpdated = "call.updated"
  case callSignal = "call.signal"

  /// Whether the event is in the log and comes again after a reconnect.
  /// `user.updated` is both: one's own change is, a contact's is not.
  public var isDurable: Bool {
    switch self {
    case .messageCreated, .messageUpdated, .messageDeleted, .markerUpdated, .contactUpdated, .blockUpdated,
      .userUpdated, .dialogCreated, .dialogUpdated, .dialogDeleted, .dialogInvited, .memberUpdated,
      .settingsUpdated, .dialogCleared, .messageStarred, .draftUpdated, .scheduledUpdated, .callUpdated:
      true
    case .ready, .caughtUp, .resync, .typingUpdated, .presenceUpdated, .unreadUpdated, .sessionRevoked, .goAway,
      .custom, .callSignal:
      false
    }
  }
}

/// `{"id":"7","type":"ping","data":{...}}`.
public struct CommandFrame: Hashable, Sendable {
  /// Comes back as `re`.
  public var id: String
  public var type: String
  public var data: JSONValue
  public init(id: String, type: String, data: JSONValue) {
    self.id = id
    self.type = type
    self.data = data
  }

  /// Bytes of an `id`; longer ones are a bad frame.
  public static let idBytesMax = 64

  /// Throws where the frame cannot even be answered: close code 4400.
  public init(_ value: JSONValue) throws(InputError) {
    guard case .object = value else { throw InputError(path: "", text: "A frame must be an object") }
    guard let id = value["id"]?.string, !id.isEmpty, id.utf8.count <= Self.idBytesMax else {
      throw InputError(path: "id", text: "must be a string of 1 to \(Self.idBytesMax) bytes")
    }
    guard let type = value["type"]?.string else { throw InputError(path: "type", text: "must be a string") }
    self.init(id: id, type: type, data: value["data"] ?? .object([]))
  }
}

/// `{"re":"7","ok":true,"data":{...}}` or `{"re":"7","error":{problem}}`.
public struct ReplyFrame<Output: Codable & Hashable & Sendable & JSONWritable>: Codable, Hashable, Sendable,
  JSONWritable
{
  public var re: String
  public var ok: Bool?
  public var data: Output?
  public var error: ProblemBody?

  public init(re: String, data: Output? = nil) {
    self.re = re
    ok = true
    self.data = data
  }
  public init(re: String, error: ProblemBody) {
    self.re = re
    self.error = error
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("re", re)
    writer.member("ok", ok)
    writer.member("data", data)
    writer.member("error", error)
    writer.endObject()
  }
}

/// `{"type":...,"cursor"?,"time":...,"data":{...},"prevCursor"?}`. What is the
/// same for every viewer comes first, so that it is encoded once.
public struct EventFrame<Body: Codable & Hashable & Sendable & JSONWritable>: Codable, Hashable, Sendable, JSONWritable
{
  public var type: String
  /// Of this event; durable ones only.
  public var cursor: String?
  public var time: WireTime
  public var data: Body
  /// The cursor before it: one that the client does not hold means a gap.
  public var prevCursor: String?

  public init(_ name: EventName, cursor: String? = nil, time: WireTime, data: Body, prevCursor: String? = nil) {
    type = name.rawValue
    self.cursor = cursor
    self.time = time
    self.data = data
    self.prevCursor = prevCursor
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("type", type)
    writer.member("cursor", cursor)
    writer.member("time", time)
    writer.member("data", data)
    writer.member("prevCursor", prevCursor)
    writer.endObject()
  }
}

/// Why the server closed the WebSocket. Where there is a problem, the reason is
/// its `type`.
public enum CloseCode: UInt16, Sendable, CaseIterable {
  /// RFC 6455 7.4.1: the server stops; a `goaway` came before.
  case goingAway = 1001
  /// RFC 6455 7.4.1: a message of more than 64 KiB.
  case tooBig = 1009
  /// RFC 6455's registry: too much to do; come back later.
  case tryAgainLater = 1013
  /// Not a frame of this protocol.
  case badFrame = 4400
  /// No token, a wrong one, or one that was revoked.
  case unauthenticated = 4401
  /// Another connection of the same device took over.
  case replaced = 4409
  /// Too many commands, or a client that does not read.
  case tooFast = 4429
}

/// The answer to `GET /v1/sync`: the same event frames over HTTP.
public struct SyncBody: Hashable, Sendable {
  /// Whole frames.
  public var events: [RawObject]
  /// Go on from here.
  public var cursor: String
  public init(events: [RawObject], cursor: String) {
    self.events = events
    self.cursor = cursor
  }
}

extension SyncBody: Codable, JSONWritable {
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.name("events")
    writer.beginArray()
    for event in events { writer.raw(event.text) }
    writer.endArray()
    writer.member("cursor", cursor)
    writer.endObject()
  }
}
