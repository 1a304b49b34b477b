import Basics
import Dialogs
import NIOCore
import ServerMetrics
import Testing

@testable import XMPPDoor

/// The bound of connections before login at the ports of clients, with a small number.
@Suite(.timeLimit(.minutes(1))) struct UnauthenticatedStreamsTests {
  private static let header =
    "<?xml version='1.0'?><stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' "
    + "to='localhost' version='1.0'>"

  @Test func oneNetworkDoesNotKeepOthersOut() async throws {
    let network = try ServerNetwork()
    let listener = try await XMPPListener(
      door: network.door, group: network.group, tls: { _ in nil }, unauthenticatedMax: 2)
    let port = try await listener.listen(host: "127.0.0.1", port: 0, directTLS: false)
    func open(from address: String) async throws -> RawServer {
      let client = try await RawServer(network.group, port: port, from: address)
      client.pour(Self.header)
      // The answer shows that it was accepted before the next one.
      #expect(await client.read(to: "</stream:features>").contains("<starttls"))
      return client
    }
    let attackers = try await [open(from: "127.0.0.2"), open(from: "127.0.0.2")]
    let witness = try await open(from: "127.0.0.3")
    #expect(await attackers[0].read(to: "never") == "")
    // A newcomer of the network with the most replaces its own.
    let last = try await open(from: "127.0.0.2")
    #expect(await attackers[1].read(to: "never") == "")
    #expect(listener.unauthenticated.count == 2)
    for client in [witness, last] {
      try await client.send("</stream:stream>")
      #expect(await client.read(to: "never") == "</stream:stream>")
    }
    let refused = try #require(network.door.parley.metrics.refusals.samples(Readings()))
    #expect(refused.first { $0.labels == [RefusingRate.connections.values[0]] }?.value == .number(2))
    await listener.stopAccepting()
    try await network.end()
  }

  /// Half stanzas take all memory before login: the network that has most of it loses its oldest stream, and others go on.
  @Test func theMemoryBeforeLoginIsBounded() async throws {
    let network = try ServerNetwork()
    let losses = Locked<[String]>([])
    // An idle stream takes one share, and one within a stanza of 9 kB two.
    let memory = MemoryBound(bytesMax: 4 * MemoryBound.shareBytes) { loser in losses.withLock { $0.append(loser) } }
    let listener = try await XMPPListener(
      door: network.door, group: network.group, tls: { _ in nil }, memory: memory)
    let port = try await listener.listen(host: "127.0.0.1", port: 0, directTLS: false)
    func open(from address: String) async throws -> RawServer {
      let client = try await RawServer(network.group, port: port, from: address)
      client.pour(Self.header)
      #expect(await client.read(to: "</stream:features>").contains("<starttls"))
      return client
    }
    let attackers = try await [open(from: "127.0.0.2"), open(from: "127.0.0.2")]
    let witness = try await open(from: "127.0.0.3")
    #expect(memory.bytes == 3 * MemoryBound.shareBytes)
    let half = "<iq type='set' id='x'><query xmlns='jabber:iq:register'><name>" + String(repeating: "x", count: 9_000)
    for attacker in attackers { attacker.pour(half) }
    #expect(await attackers[0].read(to: "never").contains("<resource-constraint"))
    // The other has its shares, and the witness one more for a stanza as long.
    try await witness.send(half + "</name></query></iq></stream:stream>")
    #expect(await witness.read(to: "</stream:stream>").contains("</stream:stream>"))
    #expect(losses.withLock { $0 } == ["127.0.0.2"])
    try await attackers[1].close()
    await listener.stopAccepting()
    try await network.end()
    #expect(memory.bytes == 0)
  }

  /// The same for streams of servers that are not verified, which count with the memory of TLS.
  @Test func theMemoryOfUnverifiedServersIsBounded() async throws {
    let network = try ServerNetwork()
    let side = ServerSide("montague.example", network, place: try await network.place())
    let losses = Locked<[String]>([])
    let memory = MemoryBound(bytesMax: 12 * MemoryBound.shareBytes) { loser in losses.withLock { $0.append(loser) } }
    let listener = ServerListener(
      side.streams, mounted: [side.place], group: network.group, owner: side.owner, memory: memory)
    let port = try await listener.listen(host: "127.0.0.1", port: 0, directTLS: false)
    func open(from address: String) async throws -> RawServer {
      let peer = try await RawServer(network.group, port: port, from: address)
      peer.pour(RawServer.header())
      #expect(await peer.read(to: "</stream:features>").contains("<starttls"))
      return peer
    }
    // One that says nothing counts as well.
    let silent = try await RawServer(network.group, port: port, from: "127.0.0.4")
    let end = ContinuousClock.now + .seconds(30)
    while memory.bytes != 3 * MemoryBound.shareBytes {
      try #require(ContinuousClock.now < end)
      await Task.yield()
    }
    let attackers = try await [open(from: "127.0.0.2"), open(from: "127.0.0.2"), open(from: "127.0.0.2")]
    #expect(memory.bytes == 12 * MemoryBound.shareBytes)
    let witness = try await open(from: "127.0.0.3")
    #expect(await attackers[0].read(to: "never").contains("<resource-constraint"))
    #expect(losses.withLock { $0 } == ["127.0.0.2"])
    #expect(memory.bytes == 12 * MemoryBound.shareBytes)
    for peer in [silent, witness, attackers[1], attackers[2]] { try await peer.close() }
    await listener.stopAccepting()
    try await network.end()
    #expect(memory.bytes == 0)
  }

  /// The same for streams that this server opens: to servers that say nothing, until one of them is verified.
  @Test func theMemoryOfStreamsToOthersIsBounded() async throws {
    let network = try ServerNetwork()
    let place = try await network.place()
    let memory = MemoryBound(bytesMax: 6 * MemoryBound.shareBytes)
    let capulet = ServerSide("capulet.example", network, place: place, memory: memory)
    let montague = ServerSide("montague.example", network, place: place)
    try await network.join(capulet, certified: ["capulet.example"])
    try await network.join(montague, certified: ["montague.example"])
    let port = try network.port(of: "montague.example")
    let (silentPort, arrivals) = try await RawServer.listen(network.group)
    network.redirect("montague.example", to: silentPort)
    var peers = arrivals.makeAsyncIterator()
    func open(_ peers: inout AsyncStream<RawServer>.Iterator) async throws -> RawServer {
      capulet.open("montague.example")
      let peer = try #require(await peers.next())
      #expect(await peer.read(to: "jabber:server").contains("jabber:server"))
      return peer
    }
    let first = try await open(&peers)
    let second = try await open(&peers)
    #expect(memory.bytes == 6 * MemoryBound.shareBytes)
    let third = try await open(&peers)
    #expect(await first.read(to: "never").contains("<resource-constraint"))
    let reason = "the streams of unknown servers take too much memory"
    #expect(await capulet.owner.next() == .failed(OpenFailure(isFinal: false, reason: reason)))
    #expect(memory.bytes == 6 * MemoryBound.shareBytes)
    for peer in [second, third] {
      try await peer.close()
      guard case .failed? = await capulet.owner.next() else { throw CancellationError() }
    }
    network.redirect("montague.example", to: port)
    capulet.open("montague.example")
    let pair = DomainPair(local: "capulet.example", remote: "montague.example")
    #expect(await capulet.owner.next() == .opened(pair, mayWrite: true, isCertified: true))
    #expect(memory.bytes == 0)
    for side in [capulet, montague] { await side.listener.stopAccepting() }
    try await network.end()
  }
}
