/// A change of a call: a fact in the dialog of the two users, for all their devices.
public struct CallChange: Sendable {
  /// The action, by the entry's author.
  public let act: CallAct
  /// The call after the change.
  public let call: Call
  /// The XMPP message: the stanza of an XMPP client, or, without extras, only its addresses, and a door writes the
  /// rest. It is `nil` if only apps are told.
  public let message: Message?
  /// The name of the call that replaces this one.
  public let successor: String?

  public init(act: CallAct, call: Call, message: Message?, successor: String? = nil) {
    self.act = act
    self.call = call
    self.message = message
    self.successor = successor
  }

  /// Whether the entry rings a user, who may have to be woken by a push.
  public var rings: Bool { act == .ring && call.state == .ringing }
}
