public import Dialogs

/// Renders what a backend gets in a door's format, which the core does not know.
public protocol HookRendering: Sendable {
  /// The names of all events, except those of outbox events.
  var events: [String] { get }
  /// Renders an entry, with what it needs from the store; `nil` if it is no event for the backend.
  func event(_ entry: Entry, in realm: RealmID, _ reader: any StoreReader) throws -> (name: String, body: [UInt8])?
  /// Renders an outbox event; `nil` if its subject no longer exists.
  func event(_ outboxEvent: OutboxEvent, _ reader: any StoreReader) throws -> (name: String, body: [UInt8])?
  /// Renders the question of `message.before_send`, for which the description of a message's files is read.
  func question(_ question: BeforeSendQuestion) async -> [UInt8]
  /// Renders `webhook.test`.
  func test() -> [UInt8]
}

extension OutboxEvent.Kind {
  /// The name of the event.
  public var event: String {
    switch self {
    case .userCreated: "user.created"
    case .userDeleted: "user.deleted"
    case .reportCreated: "report.created"
    }
  }
}
