import Addresses
import Basics
import Dialogs
import Peers
import Testing
import XMLStream
import XMPP

@testable import XMPPDoor

/// Invitations and results of archives from elsewhere (XEP-0045 7.8.2, XEP-0313 4.2).
@Suite(.timeLimit(.minutes(1))) struct RemoteInvitationTests {
  /// A room sends them, and has a bare address; a client of another server, or an occupant there, does not.
  @Test func clientsElsewhereForgeNeither() async throws {
    let network = try ServerNetwork()
    let parley = network.door.parley
    let listener = try await XMPPListener(door: network.door, group: network.group, tls: { _ in nil })
    let side = ServerSide("localhost", network, place: try #require(listener.mounted.first))
    let federation = Federation(
      listener, options: FederationOptions(), policy: DomainPolicy(FederationOptions(), clock: parley.clock),
      servers: side.streams)
    parley.hub.setFederation(federation)
    let domain = parley.realms[0].domain
    let link = try #require(federation.link(of: DomainPair(local: domain, remote: "mantua.example")))
    for (sender, isKept) in [
      ("feast@mantua.example", true), ("tybalt@mantua.example/street", false), ("feast@mantua.example/Tybalt", false),
    ] {
      let text = """
        <message from='\(sender)' to='romeo@\(domain)'><body>Come</body><x xmlns='http://jabber.org/protocol/muc#user'>\
        <invite from='juliet@\(domain)'/></x><result xmlns='urn:xmpp:mam:2' id='1'/></message>
        """
      let extras: [UInt8]? = await withCheckedContinuation { continuation in
        link.run { _ in
          var extras: [UInt8]?
          if let stanza = StanzaBytes.stanza({ $0.raw(Array(text.utf8)) }), let from = try? stanza.from(),
            let to = try? stanza.to()
          {
            extras = RemoteArrival(stanza: stanza, from: from, to: to, link: link).extras
          }
          continuation.resume(returning: extras)
        }
      }
      let written = String(decoding: try #require(extras), as: UTF8.self)
      #expect(written.contains("Come"))
      #expect(written.contains("invite") == isKept, "\(sender)")
      #expect(written.contains("urn:xmpp:mam:2") == isKept, "\(sender)")
    }
    await listener.stopAccepting()
    try await network.end()
  }
}
