import XMLStream
import XMPP

/// XEP-0085: chat states. A state alone is a signal, passed on and never stored (5.8); apps see only whether a user is
/// typing.
struct ChatStates: Feature {
  static let xep = XEP(
    85, "2.1", "Chat State Notifications",
    note: "For an app's user the server writes the states, also the end of typing that the app does not end.")

  private static let composing = Name("composing", NS.chatStates)
  private static let paused = Name("paused", NS.chatStates)

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.chatStates)", on: [.session])
    table.read(Self.composing) { _, draft in draft.typing = true }
    for state in [
      Self.paused, Name("active", NS.chatStates), Name("inactive", NS.chatStates), Name("gone", NS.chatStates),
    ] {
      table.read(state) { _, draft in draft.typing = false }
    }
  }

  /// Writes the chat state of an app's user.
  static func write(isTyping: Bool, into writer: inout ElementWriter) {
    writer.element(isTyping ? composing : paused)
  }
}
