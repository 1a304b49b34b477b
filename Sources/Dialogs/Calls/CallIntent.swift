public import Addresses

/// A request concerning calls.
public enum CallIntent: Sendable {
  /// Calls from an app. `Receipt.value` is the `Call`; `isRepeat` tells that it was called before.
  case start(CallDraft)
  /// Moves a call from an app. `Receipt.value` is the `Call` afterwards; `isRepeat` tells that nothing changed.
  case move(Position, CallMove, resource: String?)
  /// Sends a signal from an app to the other device in a call. `Receipt.value` is the `Call`.
  case signal(Position, CallSignal.Body, resource: String)
  /// Negotiates media by Jingle, for an XMPP client in a call with an app. `Receipt.value` is the `Call`.
  case negotiation(CallNegotiation)
  /// Processes an XMPP client's message of a call.
  case said(CallStanza)
  /// Ends a call whose time is over; posted by the server itself.
  case expire(Position)
}

/// A call from an app.
///
///     let draft = CallDraft(to: romeo.address, kind: .video, resource: resource, key: key)
///     let call = try await parley.post(.call(.start(draft)), by: juliet).value as? Call
public struct CallDraft: Sendable {
  public var to: BareJID
  public var kind: Call.Kind
  /// The resource of the caller's device.
  public var resource: String
  public var key: RepeatKey

  public init(to: BareJID, kind: Call.Kind, resource: String, key: RepeatKey) {
    self.to = to
    self.kind = kind
    self.resource = resource
    self.key = key
  }
}

/// A message of XEP-0353, with its meaning.
public struct CallStanza: Sendable {
  public var message: MessageDraft
  /// The id of the call.
  public var name: String
  public var act: CallAct
  public var kind: Call.Kind
  /// The reason given by the sender; `nil` if it is missing or unknown.
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
  /// The message as a move of an existing call.
  var move: CallMove {
    switch act {
    case .ring, .heard: .heard
    case .accept: .accept
    case .reject, .retract, .finish: .end(reason)
    }
  }
}

/// An act of an XMPP client in a call with an app, as its door has translated it from Jingle.
public struct CallNegotiation: Sendable {
  public enum Act: Sendable {
    /// Sends a signal to the app's device.
    case signal(CallSignal.Body)
    /// Ends the call for a reason; `nil` for the usual one.
    ///
    /// - Parameter byApp: whether the app ends it, for which the client's door speaks.
    case end(Call.Reason?, byApp: Bool)
  }
  /// The id of the call in XMPP.
  public var name: String
  /// The app's user.
  public var with: BareJID
  /// The resource of the app's device.
  public var toResource: String
  /// The resource of the client.
  public var resource: String
  public var act: Act

  public init(name: String, with: BareJID, toResource: String, resource: String, act: Act) {
    self.name = name
    self.with = with
    self.toResource = toResource
    self.resource = resource
    self.act = act
  }
}
