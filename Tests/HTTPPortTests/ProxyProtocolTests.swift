import Basics
import Logging
import NIOCore
import NIOEmbedded
import ServerMetrics
import Synchronization
import Testing

@testable import HTTPPort

/// Connections that a trusted proxy relays.
@Suite struct ProxyProtocolTests {
  private static let line = "PROXY TCP4 192.0.2.1 198.51.100.2 4711 5222\r\n"

  /// The codes of refusals in the log.
  private final class Codes: Sendable {
    private let list = Mutex<[String]>([])
    var all: [String] { list.withLock { $0 } }
    func add(_ code: String) { list.withLock { $0.append(code) } }
  }

  private struct CodeLog: LogHandler {
    let codes: Codes
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }
    func log(event: LogEvent) {
      if let code = event.metadata?["code"] { codes.add("\(code)") }
    }
  }

  private func proxies(
    _ codes: Codes = Codes(), _ metrics: Metrics = Metrics(), waitingMax: Int = .max
  ) -> ProxyProtocol {
    ProxyProtocol(
      TrustedProxies([Network("10.0.0.0/8")].compactMap { $0 }), waitingMax: waitingMax, metrics: metrics,
      logger: Logger(label: "test") { _ in CodeLog(codes: codes) })
  }

  /// The clients for which streams were opened.
  private final class Opened {
    var clients: [String] = []
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

  private struct Connection {
    let channel = EmbeddedChannel()
    let opened = Opened()
    let reads = Reads()

    init(from address: String, _ proxies: ProxyProtocol, isRefused: Bool = false) throws {
      let remote = try SocketAddress(ipAddress: address, port: 1)
      channel.remoteAddress = remote
      try channel.pipeline.syncOperations.addHandler(reads)
      try proxies.accept(channel) { [opened] client in
        opened.clients.append("\(client?.ipAddress ?? "nobody") \(client?.port ?? 0)")
        if isRefused { throw ChannelError.ioOnClosedChannel }
      }
      try channel.connect(to: remote).wait()
      channel.remoteAddress = remote
    }

    func send(_ text: String) throws { try channel.writeInbound(ByteBuffer(string: text)) }
    func received() throws -> String? { try channel.readInbound(as: ByteBuffer.self).map { String(buffer: $0) } }

    /// Carries out what others have asked of the loop.
    var isOpen: Bool {
      channel.embeddedEventLoop.run()
      return channel.isActive
    }

    func end() { _ = try? channel.finish() }
  }

  @Test func theStreamIsOpenedForTheClientBehindTheHeader() throws {
    let connection = try Connection(from: "10.1.2.3", proxies())
    let half = Self.line.utf8.count / 2
    // Ports that read on request alone get the header, too.
    #expect(connection.reads.count == 1)
    try connection.send(String(Self.line.prefix(half)))
    #expect(connection.opened.clients == [] && connection.reads.count == 2)
    try connection.send("\(Self.line.dropFirst(half))<?xml")
    #expect(connection.opened.clients == ["192.0.2.1 4711"])
    #expect(try connection.received() == "<?xml")
    // From then on the handler is gone, and reading is the stream's.
    #expect((try? connection.channel.pipeline.syncOperations.handler(type: ProxyHeaderHandler.self)) == nil)
    #expect(connection.reads.count == 2)
    try connection.send(" version='1.0'?>")
    #expect(try connection.received() == " version='1.0'?>")
    connection.channel.embeddedEventLoop.advanceTime(by: .minutes(1))
    #expect(connection.isOpen && connection.opened.clients.count == 1)
    connection.end()
  }

  @Test func anotherClientsHeaderIsNeverRead() throws {
    let connection = try Connection(from: "198.51.100.1", proxies())
    #expect(connection.opened.clients == ["198.51.100.1 1"])
    try connection.send(Self.line)
    #expect(try connection.received() == Self.line)
    connection.end()
  }

  @Test func aConnectionThatHasEndedNamesNobody() throws {
    let (channel, opened) = (EmbeddedChannel(), Opened())
    try proxies().accept(channel) { opened.clients.append($0?.ipAddress ?? "nobody") }
    #expect(opened.clients == ["nobody"])
    _ = try? channel.finish()
  }

  @Test func aHealthCheckIsTheProxysOwn() throws {
    let connection = try Connection(from: "10.1.2.3", proxies())
    try connection.channel.writeInbound(ByteBuffer(bytes: ProxyHeader.local))
    #expect(connection.opened.clients == ["10.1.2.3 1"])
    #expect(try connection.received() == nil)
    #expect(connection.isOpen)
    connection.end()
  }

  @Test(arguments: [
    ("<?xml version='1.0'?>", "proxy-header-missing"), ("PROXY TCP4 me you 1 2\r\n", "proxy-header-malformed"),
    ("\r\n\r\n\0\r\nQUIT\n\u{21}\u{11}\u{7f}\u{7f}", "proxy-header-too-long"), ("PROXY TCP4", "proxy-header-late"),
    ("", "proxy-header-late"),
  ])
  func aProxyWithoutAHeaderIsRefused(text: String, code: String) throws {
    let codes = Codes()
    let connection = try Connection(from: "10.1.2.3", proxies(codes))
    try connection.send(text)
    if code == "proxy-header-late" {
      connection.channel.embeddedEventLoop.advanceTime(by: HTTPLimits.proxyHeader - .nanoseconds(1))
      #expect(connection.isOpen)
      connection.channel.embeddedEventLoop.advanceTime(by: .nanoseconds(1))
    }
    #expect(!connection.isOpen && connection.opened.clients == [] && codes.all == [code])
    connection.end()
  }

  @Test func aStreamThatIsRefusedClosesTheConnection() throws {
    let connection = try Connection(from: "127.0.0.1", proxies(), isRefused: true)
    try connection.send(Self.line)
    #expect(connection.opened.clients == ["192.0.2.1 4711"] && !connection.isOpen)
    connection.end()
  }

  /// A program that says nothing keeps no other proxy out.
  @Test func connectionsThatWaitForTheirHeaderAreBounded() throws {
    let (codes, metrics) = (Codes(), Metrics())
    let proxies = proxies(codes, metrics)
    let silent = try (0..<HTTPLimits.proxyHeadersMax).map { _ in try Connection(from: "127.0.0.1", proxies) }
    // One whose header has come does not wait any more.
    try silent[0].send(Self.line)
    let last = try Connection(from: "127.0.0.1", proxies)
    #expect(silent[0].isOpen && silent[1].isOpen && codes.all == [])
    let newcomer = try Connection(from: "10.1.2.3", proxies)
    #expect(silent[0].isOpen && !silent[1].isOpen && silent[2].isOpen && last.isOpen && newcomer.isOpen)
    #expect(codes.all == ["proxy-headers-awaited"])
    #expect(metrics.exposition(Readings()).contains("\nparley_refusals_total{rate=\"connections\"} 1\n"))
    for connection in silent + [last, newcomer] { connection.end() }
  }

  /// Where few files may be open, fewer connections wait, so that the store has some.
  @Test func aLowLimitOfFilesBoundsThemToo() throws {
    let proxies = proxies(waitingMax: 2)
    let connections = try (0..<3).map { _ in try Connection(from: "127.0.0.1", proxies) }
    #expect(connections.map(\.isOpen) == [false, true, true])
    for connection in connections { connection.end() }
  }
}
