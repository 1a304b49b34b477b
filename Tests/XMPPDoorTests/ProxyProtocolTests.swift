import Accounts
import Basics
import Dialogs
import DialogsFixtures
import NIOCore
import ServerMetrics
import Testing

@testable import HTTPPort
@testable import XMPPDoor

/// Streams behind a proxy, which is a program of this machine.
@Suite(.timeLimit(.minutes(1))) struct ProxyProtocolTests {
  private static let header =
    "<?xml version='1.0'?><stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' "
    + "to='localhost' version='1.0'>"

  private func proxies(_ network: ServerNetwork) -> ProxyProtocol {
    ProxyProtocol(TrustedProxies(), metrics: network.door.parley.metrics, logger: network.door.logger)
  }

  private func line(_ client: String) -> String { "PROXY TCP4 \(client) 127.0.0.1 4711 5222\r\n" }

  @Test func streamsOfClientsCountToTheNetworkThatAProxyNames() async throws {
    let network = try ServerNetwork()
    let listener = try await XMPPListener(
      door: network.door, group: network.group, tls: { _ in nil }, unauthenticatedMax: 2, proxies: proxies(network))
    let port = try await listener.listen(host: "127.0.0.1", port: 0, directTLS: false)
    func open(_ client: String) async throws -> RawServer {
      let peer = try await RawServer(network.group, port: port)
      let line = line(client)
      // In two pieces, of which the second has the beginning of the stream.
      try await peer.send(String(line.prefix(9)))
      peer.pour("\(line.dropFirst(9))\(Self.header)")
      #expect(await peer.read(to: "</stream:features>").contains("<starttls"))
      return peer
    }
    let attackers = try await [open("192.0.2.1"), open("192.0.2.1")]
    let witness = try await open("192.0.2.2")
    #expect(await attackers[0].read(to: "never") == "")
    #expect(listener.unauthenticated.count == 2)
    let silent = try await RawServer(network.group, port: port)
    silent.pour(Self.header)
    #expect(await silent.read(to: "never") == "")
    try await witness.send("</stream:stream>")
    #expect(await witness.read(to: "never") == "</stream:stream>")
    await listener.stopAccepting()
    try await network.end()
  }

  @Test func streamsOfServersCountToTheNetworkThatAProxyNames() async throws {
    let network = try ServerNetwork()
    let place = try await network.place()
    let side = ServerSide("montague.example", network, place: place)
    let listener = ServerListener(
      side.streams, mounted: [place], group: network.group, owner: side.owner, proxies: proxies(network))
    let port = try await listener.listen(host: "127.0.0.1", port: 0, directTLS: false)
    func open(_ client: String) async throws -> RawServer {
      let peer = try await RawServer(network.group, port: port)
      peer.pour(line(client) + RawServer.header())
      return peer
    }
    var peers: [RawServer] = []
    for _ in 0..<FederationLimits.unverifiedPerAddressMax { peers.append(try await open("192.0.2.1")) }
    // Read together: one after the other on a loaded machine, the first would reach its time to authenticate.
    for peer in peers { #expect(await peer.read(to: "</stream:features>").contains("<starttls")) }
    let refused = try await open("192.0.2.1")
    #expect(await refused.read(to: "</stream:features>") == "")
    let other = try await open("192.0.2.2")
    #expect(await other.read(to: "</stream:features>").contains("<starttls"))
    #expect(listener.unverifiedCount == FederationLimits.unverifiedPerAddressMax + 1)
    await listener.stopAccepting()
    try await network.end()
  }

  /// The newest stream of a network that has as many connections of logged-in users as it may have is refused when it logs in, and what
  /// is behind the login is not read.
  @Test func aNetworkHasAPartOfTheConnectionsOfUsers() async throws {
    let network = try ServerNetwork()
    for name in ["juliet", "romeo"] {
      _ = try await network.stage.accounts.register(try bare("\(name)@localhost"), password: "x", displayName: nil)
    }
    let options = DoorContext.Options(domains: ["localhost"], allowsPlaintext: true, version: "1")
    let door = DoorContext(accounts: network.stage.accounts, options: options, logger: network.door.logger)
    let loggedIn = LoggedInConnections(
      perNetworkMax: 2, networks: ClientNetworks(), metrics: door.parley.metrics, logger: door.logger)
    let listener = try await XMPPListener(
      door: door, group: network.group, tls: { _ in nil }, loggedIn: loggedIn, proxies: proxies(network))
    let port = try await listener.listen(host: "127.0.0.1", port: 0, directTLS: false)
    func open(_ client: String) async throws -> RawServer {
      let peer = try await RawServer(network.group, port: port)
      try await peer.send(line(client))
      return peer
    }
    let attackers = try await [open("192.0.2.1"), open("192.0.2.1")]
    for attacker in attackers { try await attacker.logIn("juliet", password: "x") }
    let refused = try await open("192.0.2.1")
    try await refused.ask(Self.header, until: "</stream:features>")
    let plain = Base64.string(Array("\u{0}romeo\u{0}x".utf8))
    let bind = "<iq type='set' id='b'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>"
    refused.pour(
      "<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>\(plain)</auth>" + Self.header + bind)
    let answer = await refused.read(to: "never")
    #expect(answer.contains("<temporary-auth-failure") && answer.contains("as many connections"))
    #expect(answer.hasSuffix("</stream:stream>") && !answer.contains("<success"))
    try await open("192.0.2.2").logIn("romeo", password: "x")
    // The place is free again when a connection has ended.
    try await attackers[0].send("</stream:stream>")
    _ = await attackers[0].read(to: "never")
    try await open("192.0.2.1").logIn("romeo", password: "x")
    let refusals = try #require(door.parley.metrics.refusals.samples(Readings()))
    #expect(refusals.first { $0.labels == RefusingRate.networkConnections.values }?.value == .number(1))
    await listener.stopAccepting()
    try await network.end()
  }

  /// Programs of this machine have no pace, but the clients that a proxy names have one.
  @Test(arguments: [false, true]) func streamsInTheClearBeginAtThePaceOfTheirNetwork(ofServers: Bool) async throws {
    let network = try ServerNetwork()
    let metrics = network.door.parley.metrics
    let connections = PacedConnections(
      .clear, isByNetwork: true, exempt: TrustedProxies(), metrics: metrics, logger: network.door.logger)
    let port: Int
    if ofServers {
      let side = ServerSide("montague.example", network, place: try await network.place(), connections: connections)
      let listener = ServerListener(
        side.streams, mounted: [side.place], group: network.group, owner: side.owner, proxies: proxies(network))
      port = try await listener.listen(host: "127.0.0.1", port: 0, directTLS: false)
    } else {
      let listener = try await XMPPListener(
        door: network.door, group: network.group, tls: { _ in nil }, connections: connections,
        proxies: proxies(network))
      port = try await listener.listen(host: "127.0.0.1", port: 0, directTLS: false)
    }
    func open(_ client: String) async throws -> RawServer {
      let peer = try await RawServer(network.group, port: port)
      try await peer.send(line(client) + (ofServers ? RawServer.header() : Self.header))
      return peer
    }
    // The next one of the network waits for half a minute.
    var delayed = 1
    for _ in 0..<HTTPLimits.handshakesAtOnce + 30 * HTTPLimits.handshakesPerSecond
    where connections.wait("192.0.2.1") > .zero { delayed += 1 }
    let waiting = try await open("192.0.2.1")
    let other = try await open("192.0.2.2")
    #expect(await other.read(to: "</stream:features>").contains("<starttls"))
    #expect(metrics.xmppConnectionsDelayed.samples(Readings())?.map(\.value) == [.number(Double(delayed))])
    for peer in [waiting, other] { try await peer.close() }
    #expect(await waiting.read(to: "never") == "")
    try await network.end()
  }
}
