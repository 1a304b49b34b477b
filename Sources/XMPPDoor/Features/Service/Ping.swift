import XMPP

/// XEP-0199: answers pings of a client to its server (4.2), also by its own account.
struct Ping: Feature {
  static let xep = XEP(199, "2.0.1", "XMPP Ping")

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.ping)", on: [.server, .account, .session, .rooms, .pubsub])
    table.iq(.get, .ping, to: [.server, .account, .rooms, .pubsub]) { turn, _ in turn.reply() }
    table.iq(.get, .ping, to: [.session]) { (turn, _) throws(StanzaError) in
      try turn.checkPresenceAccess()
      turn.reply()
    }
  }
}
