import Accounts
import Dialogs
import DialogsFixtures
import ServerMetrics
import Testing

@testable import XMPPDoor

/// The bound of what one account may send, over sessions that come and go.
@Suite(.timeLimit(.minutes(1))) struct SessionInDebtTests {
  private static let header =
    "<?xml version='1.0'?><stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' "
    + "to='localhost' version='1.0'>"

  /// A session has one stanza in debt, behind which it is not read. Nobody has one more by another login.
  @Test func aNewSessionOfAUserInDebtIsNotReadEither() async throws {
    let network = try ServerNetwork()
    let (stage, address) = (network.stage, try bare("juliet@localhost"))
    _ = try await stage.accounts.register(address, password: "x", displayName: nil)
    let found = try await stage.parley.read { try $0.user(address) }
    let juliet = try #require(found.map { Party(id: $0.id, realm: $0.realm, address: $0.address) })
    let budget = stage.parley.sending.budget(of: juliet, from: nil, now: stage.clock.now)
    _ = budget.charge(stanzas: 0, bytes: 1 << 30, now: stage.clock.now)
    func pauses() -> String? {
      stage.parley.metrics.exposition(Readings()).split(separator: "\n").first {
        $0.hasPrefix("parley_sending_pauses_total{bound=\"bytes\"}")
      }.map { String($0) }
    }
    #expect(pauses()?.hasSuffix(" 1") == true)

    let options = DoorContext.Options(domains: ["localhost"], allowsPlaintext: true, version: "1")
    let door = DoorContext(accounts: stage.accounts, options: options, logger: network.door.logger)
    let listener = try await XMPPListener(door: door, group: network.group, tls: { _ in nil })
    let client = try await RawServer(
      network.group, port: try await listener.listen(host: "127.0.0.1", port: 0, directTLS: false))
    for (text, end) in [
      (Self.header, "</stream:features>"),
      ("<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>AGp1bGlldAB4</auth>", "<success"),
      (Self.header, "</stream:features>"),
      ("<iq type='set' id='b'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>", "</iq>"),
    ] {
      try await client.send(text)
      #expect(await client.read(to: end).contains(end))
    }
    #expect(pauses()?.hasSuffix(" 2") == true)
    try await client.close()
    await listener.stopAccepting()
    try await network.end()
  }
}
