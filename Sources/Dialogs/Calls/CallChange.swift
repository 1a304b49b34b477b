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
