import Dialogs
import HTTPPort

/// Streams the caller's events as server-sent events: the same frames as on the WebSocket, signals included. It is an
/// ordinary session: visible to others, one per device, ended with its login.
enum StreamEvents: StreamOperation {
  typealias Input = EventsInput
  typealias Output = EmptyBody
  static let name = "events"
  static let method = Method.get
  static let path = "/v1/events"

  static func perform(_ input: EventsInput, _ call: RequestContext) async throws(Problem) -> StreamChannel.Body {
    try await StreamChannel.open(try call.user(), cursor: input.cursor, address: call.address, door: call.door)
  }
}
