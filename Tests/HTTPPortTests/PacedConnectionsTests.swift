import Basics
import Logging
import NIOCore
import NIOEmbedded
import ServerMetrics
import Synchronization
import Testing

@testable import HTTPPort

@Suite struct PacedConnectionsTests {
  private func pacing(isByNetwork: Bool = true, _ metrics: Metrics = Metrics()) -> PacedConnections {
    PacedConnections(
      .tls, isByNetwork: isByNetwork, exempt: TrustedProxies([Network("10.0.0.0/8")].compactMap { $0 }),
      metrics: metrics,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  /// Returns whether the handshake of a new connection has to wait.
  ///
  /// - Parameter client: The address that a proxy names.
  private func waits(from address: String, as client: String? = nil, _ handshakes: PacedConnections) throws -> Bool {
    let channel = EmbeddedChannel()
    let remote = try SocketAddress(ipAddress: address, port: 1)
    try channel.connect(to: remote).wait()
    channel.remoteAddress = remote
    try handshakes.pace(channel, of: try client.map { try SocketAddress(ipAddress: $0, port: 2) })
    let isHeld = (try? channel.pipeline.syncOperations.handler(type: PaceGate.self)) != nil
    _ = try? channel.finish()
    return isHeld
  }

  @Test func onlyTheNetworkWithTooManyWaits() throws {
    let metrics = Metrics()
    let handshakes = pacing(metrics)
    var waiting = 0
    // The test takes some time, in which some more may begin.
    for _ in 0..<2 * HTTPLimits.handshakesAtOnce {
      if try waits(from: "192.0.2.1", handshakes) { waiting += 1 }
    }
    #expect(waiting > 0 && waiting <= HTTPLimits.handshakesAtOnce)
    #expect(metrics.tlsHandshakesDelayed.samples(Readings())?.map(\.value) == [.number(Double(waiting))])
    #expect(try !waits(from: "192.0.2.2", handshakes))
    #expect(try !waits(from: "2001:db8::1", handshakes))
  }

  /// Behind a proxy there are many networks, and bounds by network can be off.
  @Test(arguments: ["127.0.0.1", "10.1.2.3", "off"]) func someHaveNoPace(address: String) throws {
    let isOff = address == "off"
    let handshakes = pacing(isByNetwork: !isOff)
    for _ in 0..<2 * HTTPLimits.handshakesAtOnce {
      #expect(try !waits(from: isOff ? "192.0.2.1" : address, handshakes))
    }
  }

  @Test func theClientThatAProxyNamesHasThePace() throws {
    let handshakes = pacing()
    var waiting = 0
    for _ in 0..<2 * HTTPLimits.handshakesAtOnce {
      if try waits(from: "10.1.2.3", as: "192.0.2.1", handshakes) { waiting += 1 }
    }
    #expect(waiting > 0)
    #expect(try !waits(from: "10.1.2.3", as: "192.0.2.2", handshakes))
    #expect(try !waits(from: "10.1.2.3", as: "10.1.2.3", handshakes))
  }

  private final class Leavings: Sendable {
    private let number = Atomic<Int>(0)
    var count: Int { number.load(ordering: .relaxed) }
    func add() { number.wrappingAdd(1, ordering: .relaxed) }
  }

  /// The reads that reach the socket.
  private final class Reads: ChannelOutboundHandler {
    typealias OutboundIn = Never
    var count = 0
    func read(context: ChannelHandlerContext) {
      count += 1
      context.read()
    }
  }

  private func held(_ leavings: Leavings, _ reads: Reads) throws -> EmbeddedChannel {
    let channel = EmbeddedChannel(handler: PaceGate(.seconds(1)) { leavings.add() })
    try channel.pipeline.syncOperations.addHandler(reads, position: .first)
    try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1)).wait()
    return channel
  }

  @Test func nothingPassesBeforeTheTurn() throws {
    let (leavings, reads) = (Leavings(), Reads())
    let channel = try held(leavings, reads)
    channel.pipeline.read()
    #expect(reads.count == 0)
    for part in ["Client", "Hello"] { try channel.writeInbound(ByteBuffer(string: part)) }
    #expect(try channel.readInbound(as: ByteBuffer.self) == nil)
    channel.embeddedEventLoop.advanceTime(by: .seconds(1))
    for part in ["Client", "Hello"] {
      #expect(try channel.readInbound(as: ByteBuffer.self) == ByteBuffer(string: part))
    }
    #expect(reads.count == 1)
    // It has left the pipeline, and does not count as a client that has.
    #expect((try? channel.pipeline.syncOperations.handler(type: PaceGate.self)) == nil)
    try channel.writeInbound(ByteBuffer(string: "!"))
    #expect(try channel.readInbound(as: ByteBuffer.self) == ByteBuffer(string: "!"))
    _ = try? channel.finish()
    #expect(leavings.count == 0)
  }

  /// The handlers are added in the turn, and get what came before.
  @Test func whatTheTurnAddsGetsEverything() throws {
    let channel = EmbeddedChannel()
    channel.remoteAddress = try SocketAddress(ipAddress: "192.0.2.1", port: 1)
    let reads = Reads()
    let gate = PaceGate(.seconds(1)) {
      try? channel.pipeline.syncOperations.addHandler(reads, position: .last)
    } onLeave: {
    }
    try channel.pipeline.syncOperations.addHandler(gate)
    try channel.writeInbound(ByteBuffer(string: "GET"))
    #expect((try? channel.pipeline.syncOperations.handler(type: Reads.self)) == nil)
    channel.embeddedEventLoop.advanceTime(by: .seconds(1))
    #expect((try? channel.pipeline.syncOperations.handler(type: Reads.self)) != nil)
    #expect(try channel.readInbound(as: ByteBuffer.self) == ByteBuffer(string: "GET"))
    _ = try? channel.finish()
  }

  /// Its turn would come too late, or the server stops.
  @Test(arguments: [true, false]) func whoCannotWaitIsClosed(isStop: Bool) throws {
    let leavings = Leavings()
    let channel = EmbeddedChannel(
      handler: PaceGate(isStop ? .seconds(1) : HTTPLimits.idle + .seconds(1)) { leavings.add() })
    try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1)).wait()
    if isStop {
      channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
    } else {
      channel.embeddedEventLoop.advanceTime(by: HTTPLimits.idle)
    }
    #expect(!channel.isActive)
    #expect(leavings.count == 1)
  }

  /// Closed by its end, or by the client's half of it.
  @Test(arguments: [true, false]) func whoLeavesBeforeHasCostNothing(isHalf: Bool) throws {
    let (leavings, reads) = (Leavings(), Reads())
    let channel = try held(leavings, reads)
    try channel.writeInbound(ByteBuffer(string: "ClientHello"))
    if isHalf {
      channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    } else {
      try channel.close().wait()
    }
    #expect(!channel.isActive && leavings.count == 1)
    channel.embeddedEventLoop.advanceTime(by: .seconds(2))
    #expect(leavings.count == 1)
    #expect(try channel.readInbound(as: ByteBuffer.self) == nil)
  }
}
