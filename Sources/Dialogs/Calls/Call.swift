public import Basics

/// A call between two users: its state and devices. Its row is kept like a message; the log has an entry for each
/// change (`CallChange`).
///
/// The media do not pass through here: the server rings, and knows when the call ends. What two devices need to connect,
/// they exchange as signals (`CallSignal`), or by Jingle among XMPP clients.
public struct Call: Hashable, Sendable {
  /// The kind of media that the caller wants to send. Stored: never renumber.
  public enum Kind: UInt8, Sendable, CaseIterable { case audio = 1, video = 2 }

  /// Stored: never renumber.
  public enum State: UInt8, Sendable, CaseIterable { case ringing = 1, accepted = 2, ended = 3 }

  /// The reason why a call has ended. Stored: never renumber.
  public enum Reason: UInt8, Sendable, CaseIterable {
    /// The callee declined.
    case rejected = 1
    /// The caller gave up before an answer.
    case cancelled = 2
    /// The callee is in another call.
    case busy = 3
    /// No device answered in time.
    case timeout = 4
    /// One of the two users hung up.
    case hungUp = 5
    /// The connection failed, or neither side ended the call.
    case failed = 6
    /// The two users have begun another call: a device has changed, or lost its connection.
    case replaced = 7
    /// Both called at once, and the other call stands (XEP-0353, "Tie Breaking").
    case crossed = 8
    /// The device that answered negotiates media by another protocol.
    case incompatible = 9
  }

  /// The protocol that negotiates the media.
  public enum Media: String, Sendable, CaseIterable {
    /// SDP, by signals of the call, between two apps.
    case sdp
    /// Jingle (XEP-0166), if one side is an XMPP client: an app's signals are translated.
    case jingle
  }

  /// One side of a call.
  public struct CallParty: Hashable, Sendable {
    public let party: Party
    /// The resource of the device; `nil` if none is known yet.
    public var resource: String?
    public var isApp: Bool

    public init(_ party: Party, resource: String?, isApp: Bool) {
      self.party = party
      self.resource = resource
      self.isApp = isApp
    }
  }

  /// The position of the entry that rang.
  public let id: Position
  public let dialog: DialogID
  /// The id in XMPP (XEP-0353 `id`), unique in its dialog; at most `Limits.callNameBytesMax`.
  public let name: String
  public let kind: Kind
  public var caller: CallParty
  /// The callee, whose device is set on answering.
  public var callee: CallParty
  public var state = State.ringing
  /// The time when the call ends by itself; `nil` if it has ended.
  public var due: Timestamp?
  /// The reason of the end; `nil` before.
  public var reason: Reason?
  public let rangAt: Timestamp
  /// The time when a device of the callee's first reported that it rings.
  public var heardAt: Timestamp?
  public var acceptedAt: Timestamp?
  public var endedAt: Timestamp?

  public init(
    id: Position, dialog: DialogID, name: String, kind: Kind, caller: CallParty, callee: CallParty, rangAt: Timestamp,
    due: Timestamp?
  ) {
    self.id = id
    self.dialog = dialog
    self.name = name
    self.kind = kind
    self.caller = caller
    self.callee = callee
    self.rangAt = rangAt
    self.due = due
  }

  /// The media protocol; `nil` if it is not known before an answer.
  public var media: Media? {
    if !caller.isApp { return .jingle }
    if acceptedAt == nil { return nil }
    return callee.isApp ? .sdp : .jingle
  }

  /// Whether the call ended without the callee's decision.
  public var isMissed: Bool {
    switch reason {
    case .cancelled, .busy, .timeout, .failed, .incompatible: acceptedAt == nil
    case nil, .rejected, .hungUp, .replaced, .crossed: false
    }
  }

  public func has(_ user: UserID) -> Bool { caller.party.id == user || callee.party.id == user }
  public func callParty(of user: UserID) -> CallParty { caller.party.id == user ? caller : callee }
  public func peer(of user: UserID) -> CallParty { caller.party.id == user ? callee : caller }
  public var hasApp: Bool { caller.isApp || callee.isApp }

  /// The duration of the call; `nil` if it was not answered, or its end is unknown.
  public var duration: Duration? {
    guard let acceptedAt, let endedAt, reason != .failed else { return nil }
    return .milliseconds(endedAt.milliseconds - acceptedAt.milliseconds)
  }
}
