import Basics
import Dialogs
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import NIOHTTP1
import ServerMetrics
import Synchronization
import Testing

@testable import HTTPPort

/// Which HTTP connections give way to newcomers.
@Suite struct ConnectionPlaceTests {
  private final class Losses: Sendable {
    private let networks = Mutex<[String]>([])
    var all: [String] { networks.withLock { $0 } }
    func add(_ network: String) { networks.withLock { $0.append(network) } }
  }

  private struct Connection {
    let channel = EmbeddedChannel()
    let place: ConnectionPlace
    let isAdmitted: Bool

    init(
      from address: String, _ bound: ConnectionBound, isFull: Bool = false, loggedIn: LoggedInConnections? = nil
    ) throws {
      let remote = try SocketAddress(ipAddress: address, port: 1)
      try channel.connect(to: remote).wait()
      channel.remoteAddress = remote
      place = ConnectionPlace(bound, TrustedProxies(), channel, loggedIn: loggedIn)
      isAdmitted = place.enter(isFull: isFull)
      try channel.pipeline.syncOperations.addHandler(place)
    }

    /// Carries out what others have asked of the loop.
    var isOpen: Bool {
      channel.embeddedEventLoop.run()
      return channel.isActive
    }

    func request(_ headers: HTTPHeaders = [:]) throws {
      let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/", headers: headers)
      try channel.writeInbound(HTTPServerRequestPart.head(head))
      try channel.writeInbound(HTTPServerRequestPart.end(nil))
    }

    /// Begins a request whose body does not come with its head.
    func beginUpload() throws {
      let head = HTTPRequestHead(version: .http1_1, method: .POST, uri: "/", headers: ["content-length": "1000000"])
      try channel.writeInbound(HTTPServerRequestPart.head(head))
      channel.pipeline.read()
    }

    func upload(_ bytes: Int) throws {
      try channel.writeInbound(HTTPServerRequestPart.body(ByteBuffer(repeating: 0, count: bytes)))
      channel.pipeline.read()
    }

    var context: HTTPContext {
      HTTPContext(source: ApplicationRequestContextSource(channel: channel, logger: Logger(label: "test")))
    }

    /// Notes a login, as a site does.
    func logIn() {
      context.noteLogin()
      channel.embeddedEventLoop.run()
    }

    func answer() throws {
      try channel.writeOutbound(HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .ok)))
      try channel.writeOutbound(HTTPServerResponsePart.end(nil))
    }
  }

  @Test func theOldestOfTheNetworkWithTheMostIsClosed() throws {
    let losses = Losses()
    let bound = ConnectionBound(max: 2) { losses.add($0) }
    let attackers = try (0..<2).map { _ in try Connection(from: "192.0.2.1", bound) }
    let witness = try Connection(from: "192.0.2.2", bound)
    #expect(attackers.map(\.isOpen) == [false, true])
    #expect(witness.isOpen && bound.count == 2 && losses.all == ["192.0.2.1"])
    _ = try Connection(from: "192.0.2.1", bound)
    #expect(!attackers[1].isOpen && witness.isOpen)
    // Its end releases the place.
    witness.channel.close(promise: nil)
    witness.channel.embeddedEventLoop.run()
    #expect(bound.count == 1)
  }

  @Test func aRequestOfALoggedInUserIsNotInterrupted() throws {
    let bound = ConnectionBound(max: 1)
    let user = try Connection(from: "192.0.2.1", bound)
    try user.request()
    user.logIn()
    #expect(bound.count == 0)
    let second = try Connection(from: "192.0.2.1", bound)
    #expect(user.isOpen && second.isOpen)
    // When it was answered, the connection may be closed again, as it is idle.
    try user.answer()
    #expect(!second.isOpen && user.isOpen && bound.count == 1)
    let third = try Connection(from: "192.0.2.3", bound)
    #expect(third.isAdmitted && !user.isOpen)
  }

  @Test func aBodyThatDoesNotComeGivesWay() throws {
    let bound = ConnectionBound(max: 1)
    let attacker = try Connection(from: "192.0.2.1", bound)
    try attacker.beginUpload()
    attacker.logIn()
    #expect(attacker.isOpen && bound.count == 1)
    let newcomer = try Connection(from: "192.0.2.1", bound)
    #expect(!attacker.isOpen && newcomer.isOpen)
    // One that comes as a whole is protected until it was answered.
    try newcomer.beginUpload()
    newcomer.logIn()
    try newcomer.channel.writeInbound(HTTPServerRequestPart.end(nil))
    #expect(bound.count == 0)
    try newcomer.answer()
    #expect(bound.count == 1 && newcomer.isOpen)
  }

  /// The memory of the body is that of a logged-in user from the login on.
  @Test func aLoginCountsForTheBodyAsWell() throws {
    let memory = HTTPMemory(withoutLogin: MemoryBound(), loggedIn: MemoryBound(), unfinished: MemoryBound())
    var counted: [Int] { [memory.withoutLogin.bytes, memory.loggedIn.bytes] }
    let user = try Connection(from: "192.0.2.1", ConnectionBound(max: 1))
    try user.channel.pipeline.syncOperations.addHandler(
      BodyPaceHandler(memory: memory, proxies: TrustedProxies()), position: .first)
    try user.beginUpload()
    #expect(counted == [HTTPLimits.requestBytes, 0])
    user.logIn()
    #expect(counted == [0, HTTPLimits.requestBytes])
    user.context.noteLogin(isOnDisk: true)
    #expect(user.isOpen && counted == [0, 0])
    user.channel.close(promise: nil)
  }

  /// 40 KiB are ten seconds of the least rate.
  @Test func anUploadIsProtectedWhileItComes() throws {
    let bound = ConnectionBound(max: 1)
    let user = try Connection(from: "192.0.2.1", bound)
    try user.beginUpload()
    user.logIn()
    try user.upload(40_960)
    #expect(bound.count == 0)
    user.channel.embeddedEventLoop.advanceTime(by: .seconds(9))
    try user.upload(8_192)
    user.channel.embeddedEventLoop.advanceTime(by: .seconds(2))
    #expect(bound.count == 0)
    user.channel.embeddedEventLoop.advanceTime(by: .seconds(2))
    #expect(bound.count == 1 && user.isOpen)
    try user.upload(40_960)
    #expect(bound.count == 0)
    // What is refused before its body has come is not under way any more.
    try user.answer()
    #expect(bound.count == 1)
    try user.channel.writeInbound(HTTPServerRequestPart.end(nil))
    #expect(bound.count == 1 && user.isOpen)
    try user.request()
    user.logIn()
    #expect(bound.count == 0)
  }

  /// A login on one loop, while a newcomer on another takes the place.
  @Test func aLoginThatIsFasterKeepsTheConnection() throws {
    let bound = ConnectionBound(max: 1)
    let user = try Connection(from: "192.0.2.1", bound)
    let newcomer = try Connection(from: "192.0.2.1", bound)
    #expect(user.place.logIn())
    #expect(user.isOpen && newcomer.isOpen && bound.count == 1)
  }

  /// A WebSocket beyond the connections that the users of a network may have is refused, and a request keeps the place that gives way.
  @Test func aNetworkHasAPartOfTheConnectionsOfUsers() throws {
    let metrics = Metrics()
    let loggedIn = LoggedInConnections(
      perNetworkMax: 2, networks: ClientNetworks(), metrics: metrics,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let bound = ConnectionBound(max: 10)
    func connect(_ address: String = "192.0.2.1") throws -> Connection {
      try Connection(from: address, bound, loggedIn: loggedIn)
    }
    let (socket, poll, late, refused) = (try connect(), try connect(), try connect(), try connect())
    #expect(socket.place.logIn())
    try poll.request()
    poll.logIn()
    #expect(bound.count == 2)
    try late.request()
    late.logIn()
    #expect(bound.count == 2 && late.isOpen && !refused.place.logIn())
    for address in ["192.0.2.2", "127.0.0.1", "127.0.0.1", "127.0.0.1"] {
      #expect(try connect(address).place.logIn())
    }
    let newcomer = try Connection(from: "192.0.2.3", bound, isFull: true)
    #expect(newcomer.isOpen && !late.isOpen && poll.isOpen && bound.count == 2)
    // The answered request and the closed socket leave their places to others.
    try poll.answer()
    #expect(bound.count == 3 && refused.place.logIn() && bound.count == 2)
    #expect(try !connect().place.logIn())
    socket.channel.close(promise: nil)
    socket.channel.embeddedEventLoop.run()
    #expect(try connect().place.logIn())
    let refusals = try #require(metrics.refusals.samples(Readings()))
    #expect(refusals.first { $0.labels == RefusingRate.networkConnections.values }?.value == .number(2))
  }

  @Test func aFullServerAdmitsInThePlaceOfAnother() throws {
    let bound = ConnectionBound(max: 10)
    #expect(try !Connection(from: "192.0.2.1", bound, isFull: true).isAdmitted)
    let idle = try (0..<2).map { _ in try Connection(from: "192.0.2.1", bound) }
    let newcomer = try Connection(from: "192.0.2.2", bound, isFull: true)
    #expect(newcomer.isAdmitted && idle.map(\.isOpen) == [false, true])
  }

  /// The proxy's connections are those of the clients that it names; those of others are their own, whatever they name.
  @Test func theConnectionsOfAProxyAreItsClients() throws {
    let losses = Losses()
    let bound = ConnectionBound(max: 3) { losses.add($0) }
    let proxied = try ["192.0.2.1", "192.0.2.1", "192.0.2.2"].map { client in
      let connection = try Connection(from: "127.0.0.1", bound)
      try connection.request(["x-forwarded-for": client])
      return connection
    }
    let newcomer = try Connection(from: "192.0.2.3", bound)
    try newcomer.request(["x-forwarded-for": "192.0.2.1"])
    #expect(proxied.map(\.isOpen) == [false, true, true])
    #expect(newcomer.isOpen && losses.all == ["192.0.2.1"])
  }
}
