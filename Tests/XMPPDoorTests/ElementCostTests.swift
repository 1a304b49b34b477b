import Accounts
import Basics
import Dialogs
import DialogsFixtures
import Foundation
import ServerMetrics
import Testing
import XMPP

@testable import XMPPDoor

/// Elements that are no stanzas: they are charged as stanzas, or bounded where there is nobody to charge.
@Suite(.timeLimit(.minutes(1))) struct ElementCostTests {
  private static let header =
    "<?xml version='1.0'?><stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' "
    + "to='localhost' version='1.0'>"
  private static let request = "<r xmlns='urn:xmpp:sm:3'/>"

  /// Opens a port for clients in the clear, and connects to it.
  private func connect(_ network: ServerNetwork) async throws -> (listener: XMPPListener, client: RawServer) {
    let options = DoorContext.Options(domains: ["localhost"], allowsPlaintext: true, version: "1")
    let door = DoorContext(accounts: network.stage.accounts, options: options, logger: network.door.logger)
    let listener = try await XMPPListener(door: door, group: network.group, tls: { _ in nil })
    let port = try await listener.listen(host: "127.0.0.1", port: 0, directTLS: false)
    return (listener, try await RawServer(network.group, port: port))
  }

  /// Uses up what an account may send at once. Returns how many stanzas that were.
  private func left(_ budget: SendingBudget, _ now: Timestamp) -> Int {
    var count = 0
    while budget.charge(stanzas: 1, bytes: 0, now: now) == nil { count += 1 }
    return count
  }

  private func ping(_ id: String) -> String { "<iq type='get' id='\(id)'><ping xmlns='urn:xmpp:ping'/></iq>" }

  /// Each element counts, except a request for acknowledgement behind each stanza, and what acknowledges something new.
  @Test func whatIsNoStanzaIsCharged() async throws {
    let network = try ServerNetwork()
    let stage = network.stage
    let user = try await stage.accounts.register(try bare("juliet@localhost"), password: "x", displayName: nil)
    let juliet = Party(id: user.id, realm: user.realm, address: user.address)
    let (listener, client) = try await connect(network)
    try await client.logIn("juliet", password: "x")
    try await client.ask("<iq type='set' id='b'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>", until: "</iq>")
    try await client.ask("<enable xmlns='urn:xmpp:sm:3'/>", until: "<enabled")
    let asked = (1...100).map { ping("ping\($0)") + Self.request }.joined()
    try await client.ask(asked, until: "ping100")
    let others = String(repeating: "<active xmlns='urn:xmpp:csi:0'/>" + Self.request, count: 10)
    try await client.ask("<a xmlns='urn:xmpp:sm:3' h='100'/>" + others + ping("last"), until: "last")
    let now = stage.clock.now
    let budget = stage.parley.sending.budget(of: juliet, from: nil, now: now)
    #expect(left(budget, now) == 1_000 - 1 - 100 - 20 - 1)
    try await client.close()
    await listener.stopAccepting()
    try await network.end()
  }

  @Test func acknowledgementsThatXMPPNeedsAreFree() {
    var (free, sent) = (FreeManagement(), AcknowledgementQueue<Bool>())
    for _ in 0..<3 { #expect(sent.append(true, byteCount: 0) == true) }
    #expect(free.takes(.request, of: sent) == false)
    for _ in 0..<2 { free.stanzaCame() }
    #expect(free.takes(.request, of: sent) == true)
    #expect(free.takes(.request, of: sent) == false)
    // What is new is free, and what is not where it was asked for.
    #expect(free.takes(.acknowledge(2), of: sent) == true)
    #expect(sent.acknowledge(through: 2) == .released(2))
    #expect(free.takes(.acknowledge(2), of: sent) == false)
    #expect(free.takes(.acknowledge(1), of: sent) == false)
    free.asked()
    #expect(free.takes(.acknowledge(3), of: sent) == true)
    #expect(free.takes(.acknowledge(2), of: sent) == true)
    #expect(free.takes(.acknowledge(2), of: sent) == false)
    for _ in 0...DoorLimits.freeAnswersMax { free.asked() }
    let taken = (0...DoorLimits.freeAnswersMax).filter { _ in free.takes(.acknowledge(2), of: sent) }
    #expect(taken.count == DoorLimits.freeAnswersMax)
    #expect(free.takes(.enable(resume: true, max: nil), of: sent) == false)
  }

  @Test func aStrangerHasFewElements() async throws {
    let network = try ServerNetwork()
    let (listener, client) = try await connect(network)
    try await client.ask(Self.header, until: "</stream:features>")
    let count = DoorLimits.elementsBeforeSessionMax
    try await client.send(String(repeating: "<enable xmlns='urn:xmpp:sm:3'/>", count: count + 1))
    let answer = await client.read(to: "never")
    #expect(answer.components(separatedBy: "<failed").count == count + 1)
    #expect(answer.contains("<policy-violation"))
    await listener.stopAccepting()
    try await network.end()
  }

  /// Attempts to bind that are none (RFC 6120 7) count as well.
  @Test func whoHasLoggedInHasFewElementsBeforeASession() async throws {
    let network = try ServerNetwork()
    _ = try await network.stage.accounts.register(try bare("juliet@localhost"), password: "x", displayName: nil)
    let (listener, client) = try await connect(network)
    // A person mistypes the password twice.
    try await client.ask(Self.header, until: "</stream:features>")
    let wrong = Base64.string(Array("\u{0}juliet\u{0}y".utf8))
    for _ in 0..<2 {
      try await client.ask(
        "<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>\(wrong)</auth>", until: "</failure>")
    }
    let right = Base64.string(Array("\u{0}juliet\u{0}x".utf8))
    try await client.ask(
      "<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>\(right)</auth>", until: "<success")
    try await client.ask(Self.header, until: "</stream:features>")
    let bind = "<iq type='get' id='b'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>"
    let count = DoorLimits.elementsBeforeSessionMax - 3
    try await client.send(String(repeating: bind, count: count + 1))
    let answer = await client.read(to: "never")
    #expect(answer.components(separatedBy: "<bad-request").count == count + 1)
    #expect(answer.contains("<policy-violation"))
    await listener.stopAccepting()
    try await network.end()
  }

  /// Another server's elements count before it is verified as well: with those of all such streams of its network.
  @Test func unverifiedStreamsOfANetworkShareWhatTheyMaySend() async throws {
    let network = try ServerNetwork()
    let side = ServerSide("montague.example", network, place: try await network.place())
    let port = try await side.listener.listen(host: "127.0.0.1", port: 0, directTLS: false)
    let key = "<db:result from='capulet.example' to='montague.example'>1</db:result>"
    var peers: [RawServer] = []
    for address in ["127.0.0.2", "127.0.0.2", "127.0.0.3"] {
      let peer = try await RawServer(network.group, port: port, from: address)
      try await peer.ask(RawServer.header(), until: "</stream:features>")
      try await peer.ask(
        String(repeating: key, count: 10) + "<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>", until: "<proceed")
      peers.append(peer)
    }
    let (sending, now) = (network.door.parley.sending, network.stage.clock.now)
    let burst = Limits.sendingDomainStanzas.burst
    #expect(left(sending.budget(of: .peer("127.0.0.2"), now: now), now) == burst - 22)
    #expect(left(sending.budget(of: .peer("127.0.0.3"), now: now), now) == burst - 11)
    for peer in peers { try await peer.close() }
    await side.listener.stopAccepting()
    try await network.end()
  }
}
