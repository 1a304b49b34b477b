import Addresses
import Basics
import Dialogs
import Peers
import Testing
import XMLStream
import XMPP

@testable import XMPPDoor

/// Reports that other servers send about users here (XEP-0377).
@Suite(.timeLimit(.minutes(1))) struct ReportArrivalTests {
  private static func message(_ attributes: String, about reported: String) -> String {
    """
    <message \(attributes)><report xmlns='urn:xmpp:reporting:1' reason='urn:xmpp:reporting:spam'>\
    <jid xmlns='urn:xmpp:jid:0'>\(reported)</jid><text>Never.</text></report></message>
    """
  }

  /// A domain reports users of ours alone, and none of its users does.
  @Test func aDomainsReportIsStoredAndNoOtherOne() async throws {
    let network = try ServerNetwork()
    let parley = network.door.parley
    let listener = try await XMPPListener(door: network.door, group: network.group, tls: { _ in nil })
    let side = ServerSide("localhost", network, place: try #require(listener.mounted.first))
    let federation = Federation(
      listener, options: FederationOptions(), policy: DomainPolicy(FederationOptions(), clock: parley.clock),
      servers: side.streams)
    parley.hub.setFederation(federation)
    let (realm, time) = (parley.realms[0], parley.clock.now)
    let address = try #require(BareJID(parsing: "tybalt@\(realm.domain)"))
    _ = try await parley.work {
      try $0.insertUser(address, in: realm.id, profile: Profile(displayName: "Tybalt"), createdAt: time)
    }
    let link = try #require(federation.link(of: DomainPair(local: realm.domain, remote: "mantua.example")))
    for (attributes, reported) in [
      ("from='mantua.example' to='\(realm.domain)'", "tybalt@\(realm.domain)"),
      ("from='mantua.example' to='\(realm.domain)' type='error'", "tybalt@\(realm.domain)"),
      ("from='benvolio@mantua.example' to='\(realm.domain)'", "tybalt@\(realm.domain)"),
      ("from='mantua.example' to='\(realm.domain)'", "tybalt@padua.example"),
      ("from='mantua.example' to='\(realm.domain)'", "nobody@\(realm.domain)"),
    ] {
      let text = Self.message(attributes, about: reported)
      await withCheckedContinuation { continuation in
        link.run { _ in
          if let stanza = StanzaBytes.stanza({ $0.raw(Array(text.utf8)) }) {
            RemoteInbound.received(stanza, from: link)
          }
          continuation.resume()
        }
      }
    }
    // Behind what was posted.
    try await parley.work { _ in }
    let stored = try await Reports(parley).all(in: realm.id)
    #expect(stored.map(\.reported) == ["tybalt@\(realm.domain)"])
    #expect(stored.map(\.text) == ["Never."])
    let reporter = try await parley.read { reader in try stored.first.flatMap { try reader.party($0.reporter) } }
    #expect(reporter?.address.description == "mantua.example")
    await listener.stopAccepting()
    try await network.end()
  }
}
