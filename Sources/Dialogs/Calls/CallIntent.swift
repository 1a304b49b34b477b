public import Addresses

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

extension CallStanza {
  /// What it does to a call that is there.
  var move: CallMove {
    switch act {
    case .ring, .heard: .heard
    case .accept: .accept
    case .reject, .retract, .finish: .end(reason)
    }
  }
}
