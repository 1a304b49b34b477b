public import Addresses

/// How much of a message its push says: it passes through hands that neither user knows (XEP-0357 9).
public enum PushContent: String, Sendable, CaseIterable {
  /// That there is one.
  case none
  /// And from whom.
  case sender
  /// And its text.
  case body
}

/// Where a user is told what they are not there to see.
public enum PushTarget: Hashable, Sendable {
  /// A node of a push service (XEP-0357 5): a domain, or the full address of a client that acts as one. `node` is empty where
  /// the client named none. `options`: what each publication carries (publish options), as the door wrote it.
  case service(JID, node: String, options: [UInt8]?)
  /// A device of an app.
  case device(PushDevice)

  /// Which one it is among those of its user.
  public enum Name: Hashable, Sendable {
    case service(JID, node: String)
    case device(String)
  }

  public var name: Name {
    switch self {
    case .service(let service, let node, _): .service(service, node: node)
    case .device(let device): .device(device.id)
    }
  }

  public var device: PushDevice? { if case .device(let device) = self { device } else { nil } }
}

/// That a user is to be told, and how far they have been.
public struct PushRegistration: Hashable, Sendable {
  public let user: UserID
  public var target: PushTarget
  /// Of the session that asked: while it is connected, its device needs no waking.
  public var resource: String
  /// The login that it ends with; nil: it ends with none.
  public var grant: Int64?
  /// Everything up to here has been told, or need not be told.
  public var pushed: Position
  /// Publications in a row that were not taken.
  public var failures: Int
  /// When it was last asked for: the oldest goes when there are too many.
  public var enabled: Position

  public init(
    user: UserID, target: PushTarget, resource: String, grant: Int64? = nil, pushed: Position, failures: Int = 0,
    enabled: Position
  ) {
    self.user = user
    self.target = target
    self.resource = resource
    self.grant = grant
    self.pushed = pushed
    self.failures = failures
    self.enabled = enabled
  }

  public var name: PushTarget.Name { target.name }
}

/// A message that a user is to be told of. It stands until they have been.
public struct OwedPush: Hashable, Sendable {
  /// Stored: never renumber.
  public enum Kind: UInt8, Sendable {
    case alert = 0
    /// Of a muted dialog: for devices that want to know without showing it.
    case silent = 1
    /// A call that rang does not ring any more.
    case callEnd = 2
    /// What the app's backend has to say; of no dialog.
    case notification = 8
  }
  public let position: Position
  public let dialog: DialogID
  public var kind = Kind.alert
  /// Of an end: the message that rang.
  public var subject = Position.zero

  public init(position: Position, dialog: DialogID, kind: Kind = .alert, subject: Position = .zero) {
    self.position = position
    self.dialog = dialog
    self.kind = kind
    self.subject = subject
  }
}

/// What one publication says; whoever publishes renders it.
public struct PushSummary: Sendable {
  /// How many messages it stands for, at least one.
  public let count: Int
  /// Requests for a subscription that the user has not answered.
  public let requests: Int
  /// The last of the messages.
  public let last: Entry
  /// The same for a device: one for each dialog, and one for each call, in the order of the log; at most
  /// `Limits.pushNoticesMax`, the newest.
  public let notices: [PushNotice]

  public init(count: Int, requests: Int, last: Entry, notices: [PushNotice] = []) {
    self.count = count
    self.requests = requests
    self.last = last
    self.notices = notices
  }
}

/// What became of a publication.
public enum PushOutcome: Hashable, Sendable {
  case taken
  /// The service does not want it, and will not.
  case refused
  /// Nobody is there, nobody answers, or the service says to try later.
  case failed
  /// The same, and it says nothing of this target: the service serves nobody now, or not us. `seconds`: not to be asked before.
  case unavailable(seconds: Int?)
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
  /// The same of a device of an app, bound to a login of the author's. `Receipt.value`: the `PushRegistration`; `isRepeat`: there was one
  /// of this id.
  case register(PushDevice, grant: Int64, resource: String)
  /// `Receipt.isRepeat`: there was none.
  case unregister(device: String)
  /// A session with this much confirmed is not there any more: what was said to it since is owed.
  case missed(after: Position)
  /// What became of a publication of everything up to there.
  case settled(PushTarget.Name, upTo: Position, PushOutcome)
  /// What is registered may have gone with a login.
  case recount
  /// The app's backend tells the author's devices something.
  case notify(AppNotification)
}
