import Addresses
import Basics
import Dialogs
import XMLStream
import XMPP

/// XEP-0012: the time since a user was last online with the status with which they left, and the server's uptime. A query
/// to a full JID goes to that client, if the requester may see the user's presence (4).
struct LastActivity: Feature {
  static let xep = XEP(
    12, "2.0", "Last Activity",
    note: """
      The answer has no status text while a client of the user is connected (3), so users who ask about themselves get \
      none. Only those who may see the presence of a user reach their clients (4).
      """)
  static let query = Name("query", NS.lastActivity)

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.lastActivity)", on: [.server, .account])
    table.iq(.get, Self.query, to: [.server]) { turn, _ in
      let up = turn.parley.clock.now.milliseconds - turn.session.door.started.milliseconds
      turn.reply { Self.write(milliseconds: up, into: &$0) }
    }
    // A user who asks about their own account has a connected resource (3).
    table.iq(.get, Self.query, to: [.account]) { turn, _ in
      turn.reply { Self.write(milliseconds: 0, into: &$0) }
    }
    table.iq(.get, Self.query, to: [.user], Self.answerForUser)
  }

  private static func answerForUser(_ turn: Turn, _ query: Element) throws(StanzaError) {
    guard let address = turn.to?.bare else { throw StanzaError(.badRequest) }
    let (viewer, jid) = (turn.party, turn.jid)
    turn.fetch { reader in
      let access = try reader.presenceAccess(to: address, for: viewer, at: jid.jid)
      let isShown = try reader.showsLastSeen(access, to: viewer)
      // The status is part of the presence, which a user may show to fewer than the time.
      guard isShown, case .reads(let user) = access else { return (access, isShown, nil as String?) }
      return (access, isShown, try reader.lastStatus(of: user.id))
    } reply: { (access, isShown, stored) throws(StanzaError) in
      let user: User
      var status: String?
      switch access {
      // RFC 6121 8.5.1.
      case .none: throw StanzaError(.serviceUnavailable)
      case .known(let known): user = known
      case .reads(let known):
        user = known
        // "At least one connected or available resource" (3). A user who shows all users when they were online does not
        // thereby show that they are.
        if isShown, !turn.parley.hub.onlineSessions(of: user.id).isEmpty {
          return turn.reply { write(milliseconds: 0, into: &$0) }
        }
        status = turn.parley.hub.lastStatus(of: known.id, stored: stored)
      }
      guard isShown else { throw StanzaError(.forbidden) }
      guard let seen = turn.parley.hub.lastSeen(of: user) else {
        throw StanzaError(.itemNotFound, "this user has not been here yet")
      }
      let gone = turn.parley.clock.now.milliseconds - seen.milliseconds
      turn.reply { write(milliseconds: gone, status: status, into: &$0) }
    }
  }

  /// Returns whether a query to a full JID may be passed on to that client (4, 8).
  static func mayPass(_ payload: Element, from viewer: JID, to: BareJID, _ hub: Hub) -> Bool {
    !payload.is(query) || hub.sessions(of: to, seenBy: viewer) != nil
  }

  static func write(milliseconds: Int64, status: String? = nil, into writer: inout ElementWriter) {
    writer.element(query) { writer in
      writer.attribute("seconds", max(0, milliseconds / 1_000))
      if let status { writer.text(status) }
    }
  }
}
