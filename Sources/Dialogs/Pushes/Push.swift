public import Addresses

/// The target of a user's pushes.
public enum PushTarget: Hashable, Sendable {
  /// A node of a push service (XEP-0357 5): a domain, or the full address of a client that acts as one. `node` is empty
  /// if the client named none. `options` are the publish options of each publication, as the door wrote them.
  case service(JID, node: String, options: [UInt8]?)
  /// A device of an app.
  case device(PushDevice)

  /// The key of a target, unique for its user.
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

/// The registration of a user's push target, with its progress.
public struct PushRegistration: Hashable, Sendable {
  public let user: UserID
  public var target: PushTarget
  /// The resource of the registering session: while it is connected, its device need not be woken.
  public var resource: String
  /// The login with which it ends; `nil` if there is none.
  public var grant: Int64?
  /// The position up to which everything was pushed, or need not be.
  public var pushed: Position
  /// The number of failed publications in a row.
  public var failures: Int
  /// The position of the last registration: the oldest is removed when there are too many.
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

/// A pending push of a message to a user, stored until it is sent.
public struct OwedPush: Hashable, Sendable {
  /// The kind of a push. Stored: never renumber.
  public enum Kind: UInt8, Sendable {
    case alert = 0
    /// A message of a muted dialog, for devices that want to know of it without showing it.
    case silent = 1
    /// The end of a ringing call.
    case callEnd = 2
    /// A notification of the app's backend, outside of dialogs.
    case notification = 8
  }
  public let position: Position
  public let dialog: DialogID
  public var kind = Kind.alert
  /// For the end of a call, the message that rang.
  public var subject = Position.zero

  public init(position: Position, dialog: DialogID, kind: Kind = .alert, subject: Position = .zero) {
    self.position = position
    self.dialog = dialog
    self.kind = kind
    self.subject = subject
  }
}

/// The outcome of a publication.
public enum PushOutcome: Hashable, Sendable {
  case taken
  /// The service refuses it permanently.
  case refused
  /// The service does not answer, or asks to try later.
  case failed
  /// The service serves no one now, or not this server, independently of the target. It must not be called again before
  /// `seconds`.
  case unavailable(seconds: Int?)
}

/// A change of the author's push registrations.
public enum PushIntent: Sendable {
  /// Adds a node of a service, or replaces its options and session.
  case enable(service: JID, node: String, options: [UInt8]?, resource: String)
  /// Removes a node, or all of this service if it is `nil`.
  case disable(service: JID, node: String?)
  /// Registers a device of an app, bound to a login of the author's. `Receipt.value` is the `PushRegistration`;
  /// `isRepeat` tells that there was one of this id.
  case register(PushDevice, grant: Int64, resource: String)
  /// Removes a device. `Receipt.isRepeat` tells that there was none.
  case unregister(device: String)
  /// Records that a session is gone whose client has confirmed this much: later messages to it are pushed.
  case missed(after: Position)
  /// Records the outcome of a publication of everything up to there.
  case settled(PushTarget.Name, upTo: Position, PushOutcome)
  /// Updates the registry after registrations may have ended with a login.
  case recount
  /// Sends the author's devices a notification of the app's backend.
  case notify(AppNotification)
}
