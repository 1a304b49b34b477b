public import Addresses

/// Where a user's server publishes what the user is not there to see (XEP-0357 5): a node of a push service, which wakes one
/// of the user's devices.
public struct PushRegistration: Hashable, Sendable {
  public let user: UserID
  /// The push service: a domain, or the full address of a client that acts as one.
  public let service: JID
  /// Empty: the client named none.
  public let node: String
  /// What each publication carries (publish options), as the door wrote it; nil: nothing.
  public var options: [UInt8]?
  /// Of the session that asked: while it is connected, its device needs no waking.
  public var resource: String
  /// Everything up to here the service has been told, or need not be told.
  public var pushed: Position
  /// Publications in a row that were not taken.
  public var failures: Int
  /// When it was last asked for: the oldest goes when there are too many.
  public var enabled: Position

  public init(
    user: UserID, service: JID, node: String, options: [UInt8]?, resource: String, pushed: Position, failures: Int = 0,
    enabled: Position
  ) {
    self.user = user
    self.service = service
    self.node = node
    self.options = options
    self.resource = resource
    self.pushed = pushed
    self.failures = failures
    self.enabled = enabled
  }
}

/// A message that a user's services are to be told of. It stands until they have been.
public struct OwedPush: Hashable, Sendable {
  public let position: Position
  public let dialog: DialogID
  public init(position: Position, dialog: DialogID) {
    self.position = position
    self.dialog = dialog
  }
}

/// What one publication says; a door renders it (XEP-0357 7).
public struct PushSummary: Sendable {
  /// How many messages it stands for, at least one.
  public let count: Int
  /// Requests for a subscription that the user has not answered.
  public let requests: Int
  /// The last of the messages.
  public let last: Entry
  public init(count: Int, requests: Int, last: Entry) {
    self.count = count
    self.requests = requests
    self.last = last
  }
}

/// What became of a publication.
public enum PushOutcome: Hashable, Sendable {
  case taken
  /// The service does not want it, and will not.
  case refused
  /// Nobody is there, nobody answers, or the service says to try later.
  case failed
}

/// The way to push services.
public protocol PushRoute: Sendable {
  /// Publishes and waits for the answer, a bounded time; returns early when its task is cancelled.
  func publish(_ summary: PushSummary, to registration: PushRegistration, of user: Party) async -> PushOutcome
}

/// Anything about push registrations of the author.
public enum PushIntent: Sendable {
  /// Adds, or replaces options and session where the service has this node already.
  case enable(service: JID, node: String, options: [UInt8]?, resource: String)
  /// `node` nil: all of this service.
  case disable(service: JID, node: String?)
  /// A session with this much confirmed is not there any more: what was said to it since is owed.
  case missed(after: Position)
  /// What became of a publication of everything up to there.
  case settled(service: JID, node: String, upTo: Position, PushOutcome)
}
