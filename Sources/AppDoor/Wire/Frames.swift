import Basics
import HTTPPort
import JSON

/// The WebSocket's frames: one JSON object per text message, in either
/// direction. `docs/asyncapi.yaml` describes each; a test compares the lists.

/// The subprotocol that a client must ask for (RFC 6455 1.9).
let webSocketSubprotocol = "parley.v1"
/// Where the WebSocket is.
let webSocketPath = "/v1/ws"

/// What a client may say.
enum CommandName: String, Sendable, CaseIterable {
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
enum EventName: String, Sendable, CaseIterable {
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
  var isDurable: Bool {
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
struct CommandFrame: Hashable, Sendable {
  /// Comes back as `re`.
  var id: String
  var type: String
  var data: JSONValue

  /// Bytes of an `id`; longer ones are a bad frame.
  static let idBytesMax = 64
}

extension CommandFrame {
  /// Throws where the frame cannot even be answered: close code 4400.
  init(_ value: JSONValue) throws(InputError) {
    guard case .object = value else { throw InputError(path: "", text: "A frame must be an object") }
    guard let id = value["id"]?.string, !id.isEmpty, id.utf8.count <= Self.idBytesMax else {
      throw InputError(path: "id", text: "must be a string of 1 to \(Self.idBytesMax) bytes")
    }
    guard let type = value["type"]?.string else { throw InputError(path: "type", text: "must be a string") }
    self.init(id: id, type: type, data: value["data"] ?? .object([]))
  }
}

/// `{"re":"7","ok":true,"data":{...}}` or `{"re":"7","error":{problem}}`.
struct ReplyFrame<Output: Hashable & Sendable & JSONWritable>: Hashable, Sendable, JSONObjectWritable {
  var re: String
  var ok: Bool?
  var data: Output?
  var error: ProblemBody?

  init(re: String, data: Output? = nil) {
    self.re = re
    ok = true
    self.data = data
  }
  init(re: String, error: ProblemBody) {
    self.re = re
    self.error = error
  }

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("re", re)
    writer.member("ok", ok)
    writer.member("data", data)
    writer.member("error", error)
  }
}

/// `{"type":...,"cursor"?,"time":...,"data":{...},"prevCursor"?}`. What is the
/// same for every viewer comes first, so that it is encoded once.
struct EventFrame<Body: Hashable & Sendable & JSONWritable>: Hashable, Sendable, JSONObjectWritable {
  var type: String
  /// Of this event; durable ones only.
  var cursor: String?
  var time: Timestamp
  var data: Body
  /// The cursor before it: one that the client does not hold means a gap.
  var prevCursor: String?

  init(_ name: EventName, cursor: String? = nil, time: Timestamp, data: Body, prevCursor: String? = nil) {
    type = name.rawValue
    self.cursor = cursor
    self.time = time
    self.data = data
    self.prevCursor = prevCursor
  }

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("type", type)
    writer.member("cursor", cursor)
    writer.member("time", time)
    writer.member("data", data)
    writer.member("prevCursor", prevCursor)
  }
}

/// Why the server closed the WebSocket. Where there is a problem, the reason is
/// its `type`.
enum CloseCode: UInt16, Sendable, CaseIterable {
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
struct SyncBody: Hashable, Sendable, JSONObjectWritable {
  /// Whole frames.
  var events: [RawObject]
  /// Go on from here.
  var cursor: String

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("events", events)
    writer.member("cursor", cursor)
  }
}
