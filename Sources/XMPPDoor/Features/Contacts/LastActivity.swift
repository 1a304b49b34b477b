import Addresses
import Basics
import Dialogs
import XMLStream
import XMPP

/// XEP-0012: the time since a user was last online, and the server's uptime. A query to a full JID goes to that client,
/// if the requester may see the user's presence (4).
struct LastActivity: Feature {
  static let xep = XEP(
    12, "2.0", "Last Activity", note: "The status text of the last unavailable presence is not kept (3, a MAY).")
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
    turn.fetch {
      try LastSeenView(of: address, for: viewer, at: jid, $0)
    } reply: { (sight) throws(StanzaError) in
      switch sight.access {
      // RFC 6121 8.5.1.
      case .absent: throw StanzaError(.serviceUnavailable)
      case .denied, .granted:
        guard sight.isShown else { throw StanzaError(.forbidden) }
        // "At least one connected or available resource" (3). A user who shows all users when they were online does not
        // thereby show that they are.
        if case .granted(let user) = sight.access, !turn.parley.hub.onlineSessions(of: user.id).isEmpty {
          return turn.reply { write(milliseconds: 0, into: &$0) }
        }
        guard let seen = sight.lastSeen else {
          throw StanzaError(.itemNotFound, "this user has not been here yet")
        }
        let gone = turn.parley.clock.now.milliseconds - seen.milliseconds
        turn.reply { write(milliseconds: gone, into: &$0) }
      }
    }
  }

  /// The requester's view of the other user. Apps get the same answer (`StoreReader.view`).
  private struct LastSeenView: Sendable {
    let access: PresenceAccess
    let isShown: Bool
    let lastSeen: Timestamp?

    init(of address: BareJID, for viewer: Party, at jid: FullJID, _ reader: any StoreReader) throws {
      access = try PresenceAccess.to(address, for: viewer, at: jid, reader)
      switch access {
      case .absent: (isShown, lastSeen) = (false, nil)
      case .granted(let user):
        isShown = try user.id == viewer.id || reader.showsLastSeen(user.id, isContact: true)
        lastSeen = user.lastSeenAt
      case .denied:
        let user = try reader.user(address)
        isShown = try user.map { try reader.showsLastSeen($0.id, isContact: false) } ?? false
        lastSeen = user?.lastSeenAt
      }
    }
  }

  /// Returns whether a query to a full JID may be passed on to that client (4, 8).
  static func mayPass(_ payload: Element, from viewer: Party, at jid: FullJID, to: BareJID, _ hub: Hub) -> Bool {
    !payload.is(query) || PresenceAccess.isGranted(to: to, for: viewer, at: jid, hub)
  }

  static func write(milliseconds: Int64, into writer: inout ElementWriter) {
    writer.element(query) { $0.attribute("seconds", max(0, milliseconds / 1_000)) }
  }
}
