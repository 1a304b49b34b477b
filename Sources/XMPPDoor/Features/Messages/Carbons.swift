import Dialogs
import XMLStream
import XMPP

/// XEP-0280: copies for a user's other resources. `Dialogs.Routing` decides which messages are copied and to whom; this
/// file has the wrapping, and the switch.
///
/// Private messages in rooms are copied only if the user sent them, to the sessions that are in the room too.
///
/// `urn:xmpp:carbons:rules:0` (6.2) is not advertised: errors go to the exact resource only.
struct Carbons: Feature {
  static let xep = XEP(
    280, "1.0.1", "Message Carbons", note: "Errors are not copied, therefore the rules of 6.1 are not advertised.")

  enum Direction: Sendable { case sent, received }

  static let sent = Name("sent", NS.carbons)
  static let received = Name("received", NS.carbons)

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.carbons)")
    // Enabling twice changes nothing and is no error (10).
    table.iq(.set, Name("enable", NS.carbons), to: [.account]) { turn, _ in Self.turn(turn, on: true) }
    table.iq(.set, Name("disable", NS.carbons), to: [.account]) { turn, _ in Self.turn(turn, on: false) }
    table.inline(Name("enable", NS.carbons), feature: "\(NS.carbons)") { session in
      session.parley.hub.update(session.handle) { $0.carbons = true }
    }
    table.read(Name("private", NS.carbons)) { _, draft in draft.isUncopied = true }
  }

  /// Switches carbons behind the session's own posts, so that earlier ones are copied as it was switched then.
  private static func turn(_ turn: Turn, on isEnabled: Bool) {
    turn.afterPosts {
      turn.parley.hub.update(turn.session.handle) { $0.carbons = isEnabled }
      turn.reply()
    }
  }

  /// Opens the wrapping of a copy (7, 8): the forwarded message comes next, then `close`.
  ///
  /// - Parameters:
  ///   - from: the user's bare JID.
  ///   - to: the full JID of the resource that gets the copy.
  ///   - type: the original's.
  static func open(
    _ direction: Direction, from: String, to: String, type: Envelope.MessageType, into writer: inout ElementWriter
  ) {
    writer.open(.message)
    writer.attribute("from", from)
    writer.attribute("to", to)
    writer.attribute("type", Outbound.typeText(type))
    switch direction {
    case .sent: writer.open(sent)
    case .received: writer.open(received)
    }
    writer.open(.forwarded)
  }

  static func close(into writer: inout ElementWriter) {
    writer.close()
    writer.close()
    writer.close()
  }
}
