import Basics
import HTTPPort
import JSON

/// The WebSocket's frames: one JSON object per text message, in either
/// direction. `docs/asyncapi.yaml` describes each; a test compares the lists.

/// The subprotocol that a client must request (RFC 6455 1.9).
let webSocketSubprotocol = "parley.v1"
/// The path of the WebSocket.
let webSocketPath = "/v1/ws"

/// The name of a client's command.
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

/// The name of an event.
enum EventName: String, Sendable, CaseIterable {
  case ready
  case caughtUp = "caught_up"
  case resync
  case messageCreated = "message.created"
  case messageUpdated = "message.updated"
  case messageDeleted = "message.deleted"
  case markerUpdated = "marker.updated"
  case contactUpdated = "contact.updated"
  case contactsChanged = "contacts.changed"
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

  /// Whether the event is in the log and is repeated after a reconnect. `user.updated` is both: the user's own change
  /// is durable, a contact's is not.
  var isDurable: Bool {
    switch self {
    case .messageCreated, .messageUpdated, .messageDeleted, .markerUpdated, .contactUpdated, .contactsChanged,
      .blockUpdated, .userUpdated, .dialogCreated, .dialogUpdated, .dialogDeleted, .dialogInvited, .memberUpdated,
      .settingsUpdated, .dialogCleared, .messageStarred, .draftUpdated, .scheduledUpdated, .callUpdated:
      true
    case .ready, .caughtUp, .resync, .typingUpdated, .presenceUpdated, .unreadUpdated, .sessionRevoked, .goAway,
      .custom, .callSignal:
      false
    }
  }
}

/// A command: `{"id":"7","type":"ping","data":{...}}`.
struct CommandFrame: Hashable, Sendable {
  /// The id, which is `re` in the reply.
  var id: String
  var type: String
  var data: JSONValue

  /// The most bytes of an `id`; longer ones are a bad frame.
  static let idBytesMax = 64
}

extension CommandFrame {
  /// Reads a frame. Throws if it cannot even be answered: close code 4400.
  init(_ value: JSONValue) throws(InputError) {
    guard case .object = value else { throw InputError(path: "", text: "A frame must be an object") }
    guard let id = value["id"]?.string, !id.isEmpty, id.utf8.count <= Self.idBytesMax else {
      throw InputError(path: "id", text: "must be a string of 1 to \(Self.idBytesMax) bytes")
    }
    guard let type = value["type"]?.string else { throw InputError(path: "type", text: "must be a string") }
    self.init(id: id, type: type, data: value["data"] ?? .object([]))
  }
}

/// A reply: `{"re":"7","ok":true,"data":{...}}` or `{"re":"7","error":{problem}}`.
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

/// An event: `{"type":...,"cursor"?,"time":...,"data":{...},"prevCursor"?}`. Members that are the same for every viewer
/// come first, so that they are encoded once.
struct EventFrame<Body: Hashable & Sendable & JSONWritable>: Hashable, Sendable, JSONObjectWritable {
  var type: String
  /// The cursor of this event; durable ones only.
  var cursor: String?
  var time: Timestamp
  var data: Body
  /// The previous cursor: a client that does not have it has missed events.
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

/// The reason why the server closed the WebSocket. If there is a problem, the close reason is its `type`.
enum CloseCode: UInt16, Sendable, CaseIterable {
  /// The server stops, after a `goaway` (RFC 6455 7.4.1).
  case goingAway = 1001
  /// A message has more than 64 KiB (RFC 6455 7.4.1).
  case tooBig = 1009
  /// The server is overloaded; reconnect later (RFC 6455's registry).
  case tryAgainLater = 1013
  /// The text is no frame of this protocol.
  case badFrame = 4400
  /// The token is missing, wrong, or revoked.
  case unauthenticated = 4401
  /// Another connection of the same device took over.
  case replaced = 4409
  /// There were too many commands, or the client does not read.
  case tooFast = 4429
}

/// The answer to `GET /v1/sync`: event frames over HTTP.
struct SyncBody: Hashable, Sendable, JSONObjectWritable {
  /// The complete event frames.
  var events: [RawObject]
  /// The cursor to continue from.
  var cursor: String

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("events", events)
    writer.member("cursor", cursor)
  }
}
