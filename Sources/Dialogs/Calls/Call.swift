/// A call between two users: who calls whom, how it stands, on which devices. Its row is kept like what was said; the log tells
/// each change of it (`CallChange`).
///
/// What is said *in* a call does not come by here: the server rings, and knows when it ends. Two apps pass each other what they
/// need to connect (`CallSignal`).
public struct Call: Hashable, Sendable {
  /// What the caller wants to send. Stored: never renumber.
  public enum Kind: UInt8, Sendable, CaseIterable { case audio = 1, video = 2 }

  /// Stored: never renumber.
  public enum State: UInt8, Sendable, CaseIterable { case ringing = 1, accepted = 2, ended = 3 }

  /// Why a call has ended. Stored: never renumber.
  public enum Reason: UInt8, Sendable, CaseIterable {
    /// The callee did not want it.
    case rejected = 1
    /// The caller took it back.
    case cancelled = 2
    /// The callee is in another call.
    case busy = 3
    /// Nobody answered in time.
    case timeout = 4
    /// One of the two hung up.
    case hungUp = 5
    /// It could not be connected, or nobody said that it is over.
    case failed = 6
    /// The two have begun another one: their devices have changed, or lost each other.
    case replaced = 7
    /// Both called at once, and the other call stands (XEP-0353, "Tie Breaking").
    case crossed = 8
    /// What answered it speaks another protocol for what is said in it.
    case incompatible = 9
  }

  /// How what is said in a call is agreed upon.
  public enum Media: String, Sendable, CaseIterable {
    /// Both are apps: SDP, by signals of the call.
    case sdp
    /// One is an XMPP client: Jingle (XEP-0166), which this server translates into nothing else.
    case jingle
  }

  /// One end.
  public struct CallParty: Hashable, Sendable {
    public let party: Party
    /// The device; nil: it has none yet, or none that anybody knows.
    public var resource: String?
    public var isApp: Bool

    public init(_ party: Party, resource: String?, isApp: Bool) {
      self.party = party
      self.resource = resource
      self.isApp = isApp
    }
  }

  /// Of the entry that rang.
  public let id: Position
  public let dialog: DialogID
  /// What XMPP calls it (XEP-0353 `id`): unique in its dialog, at most `Limits.callNameBytesMax`.
  public let name: String
  public let kind: Kind
  public var caller: CallParty
  /// Its device is there from when it answers.
  public var callee: CallParty
  public var state = State.ringing
  /// When it ends by itself; nil: it has ended.
  public var due: Timestamp?
  /// There from when it has ended.
  public var reason: Reason?
  public let rangAt: Timestamp
  /// When the first device of the callee said that it rings.
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

  /// nil: that is not known before somebody answers.
  public var media: Media? {
    if !caller.isApp { return .jingle }
    if acceptedAt == nil { return nil }
    return callee.isApp ? .sdp : .jingle
  }

  /// It has ended without the callee's having had a say.
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

  /// nil: nobody has talked, or nobody knows how long.
  public var duration: Duration? {
    guard let acceptedAt, let endedAt, reason != .failed else { return nil }
    return .milliseconds(endedAt.milliseconds - acceptedAt.milliseconds)
  }
}
