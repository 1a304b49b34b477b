import XMLStream
import XMPP

/// XEP-0092: name and version of the server's software. The operating system is never disclosed (5: it helps only
/// attackers).
struct SoftwareVersion: Feature {
  static let xep = XEP(92, "1.1", "Software Version", note: "The operating system is not disclosed.")
  static let name = "Parley"
  static let query = Name("query", NS.version)

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.version)", on: [.server, .session])
    table.iq(.get, Self.query, to: [.server]) { turn, _ in
      turn.reply { Self.write(version: turn.session.door.options.version, into: &$0) }
    }
    // To XMPP an app's session is software of this server.
    table.iq(.get, Self.query, to: [.session]) { (turn, _) throws(StanzaError) in
      try turn.checkPresenceAccess()
      turn.reply { Self.write(version: turn.session.door.options.version, into: &$0) }
    }
  }

  static func write(version: String, into writer: inout ElementWriter) {
    writer.element(query) { writer in
      writer.element("name") { $0.text(name) }
      writer.element("version") { $0.text(version) }
    }
  }
}
