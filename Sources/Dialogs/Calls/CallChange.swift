public import Addresses

/// That a call has changed: a fact in the dialog of the two, for all their devices.
public struct CallChange: Sendable {
  /// What happened; the entry's author did it.
  public let act: CallAct
  /// After it.
  public let call: Call
  /// What XMPP is told: as an XMPP client said it, or, without extras, from whom and to whom, and a door writes the rest. nil:
  /// nothing, because it is only apps that are to know.
  public let message: Message?
  /// The call that takes its place, by its name.
  public let successor: String?

  public init(act: CallAct, call: Call, message: Message?, successor: String? = nil) {
    self.act = act
    self.call = call
    self.message = message
    self.successor = successor
  }

  /// Somebody is called who may have to be woken for it.
  public var rings: Bool { act == .ring && call.state == .ringing }
}

/// Anything about calls.
public enum CallIntent: Sendable {
  /// An app calls. `Receipt.value`: the `Call`; `isRepeat`: it was called before.
  case start(CallDraft)
  /// An app does something with a call. `Receipt.value`: the `Call` after it; `isRepeat`: it changed nothing.
  case move(Position, CallMove, resource: String?)
  /// What two apps in a call tell each other. `Receipt.value`: the `Call`.
  case signal(Position, CallSignal.Body, resource: String)
  /// What an XMPP client says of a call.
  case said(CallStanza)
  /// The server's own: its time may be over.
  case expire(Position)
}

/// An app's call.
public struct CallDraft: Sendable {
  public var to: BareJID
  public var kind: Call.Kind
  /// The caller's device.
  public var resource: String
  public var key: RepeatKey

  public init(to: BareJID, kind: Call.Kind, resource: String, key: RepeatKey) {
    self.to = to
    self.kind = kind
    self.resource = resource
    self.key = key
  }
}

/// A message of XEP-0353, as it is said and what it means.
public struct CallStanza: Sendable {
  public var message: MessageDraft
  /// Which call.
  public var name: String
  public var act: CallAct
  public var kind: Call.Kind
  /// As its sender says; nil: they say nothing that is known.
  public var reason: Call.Reason?

  public init(message: MessageDraft, name: String, act: CallAct, kind: Call.Kind, reason: Call.Reason?) {
    self.message = message
    self.name = name
    self.act = act
    self.kind = kind
    self.reason = reason
  }
}

/// What one device in a call tells the other. Passed on, and neither read nor kept.
public struct CallSignal: Hashable, Sendable {
  public enum Action: String, Sendable, CaseIterable { case offer, answer, candidate, info }
  public struct Body: Hashable, Sendable {
    public var action: Action
    /// A session description (RFC 8866); at most `Limits.callSDPBytesMax`.
    public var sdp: String?
    /// A JSON object, at most `Limits.callSignalBytesMax`: an ICE candidate.
    public var candidate: String?
    /// A JSON object, at most `Limits.callSignalBytesMax`: what else the app wants to say, such as that it is muted.
    public var info: String?
    public init(action: Action, sdp: String? = nil, candidate: String? = nil, info: String? = nil) {
      self.action = action
      self.sdp = sdp
      self.candidate = candidate
      self.info = info
    }
  }
  public let call: Position
  public let dialog: DialogID
  public let sender: Party
  public let body: Body
}

public protocol CallReader {
  func call(_ id: Position) throws -> Call?
  func call(named name: String, in dialog: DialogID) throws -> Call?
  /// Of one user, by either end, that have not ended; the newest first, at most `limit`.
  func openCalls(of user: UserID, limit: Int) throws -> [Call]
  /// How many calls a user has begun since then.
  func callCount(by user: UserID, since time: Timestamp) throws -> Int
  /// Of everybody, whose time is over at `time`, the earliest first.
  func dueCalls(at time: Timestamp, limit: Int) throws -> [Position]
  /// When the next one's is; nil: there is none.
  func nextCallDue() throws -> Timestamp?
}

public protocol CallWriter: CallReader {
  /// Inserts or replaces.
  func put(_ call: Call) throws
}
