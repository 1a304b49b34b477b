import Dispatch
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import NIOHTTP1
import ServerMetrics
import Synchronization
import Testing

@testable import HTTPPort

private func downloads(
  _ max: Int, perNetwork: Int, byNetwork: Bool = true, _ metrics: Metrics = Metrics()
) -> Downloads {
  Downloads(
    max: max, perNetworkMax: perNetwork, byNetwork: byNetwork, metrics: metrics,
    logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
}

@Suite struct DownloadsTests {
  /// The connections that were closed, in this order.
  private final class Cut: Sendable {
    private let list = Mutex<[String]>([])
    var names: [String] { list.withLock { $0 } }
    func add(_ name: String) { list.withLock { $0.append(name) } }
  }

  @Test(arguments: [
    // The least, and the most; an eighth of the memory, and of the descriptors.
    (1 << 26, 262_144, 64), (1 << 34, 100, 64), (1 << 36, 262_144, 4_096),
    (1 << 30, 262_144, 409), (1 << 34, 1_024, 128),
  ])
  func theNumberFollowsMemoryAndDescriptors(memory: Int, descriptors: Int, expected: Int) {
    #expect(Downloads.max(memory: memory, descriptors: descriptors) == expected)
  }

  @Test func anotherNetworkTakesTheOldestPlaceOfTheFullest() throws {
    let (cut, metrics) = (Cut(), Metrics())
    let all = downloads(4, perNetwork: 3, metrics)
    var places: [Downloads.Place] = []
    for name in ["a1", "a2", "a3"] { places.append(try all.admit("a") { cut.add(name) }) }
    #expect(throws: Downloads.Refusal.ofNetwork) { _ = try all.admit("a") { cut.add("a4") } }
    places.append(try all.admit("b") { cut.add("b1") })
    #expect(cut.names == [] && all.count == 4)
    places.append(try all.admit("c") { cut.add("c1") })
    #expect(cut.names == ["a1"] && all.count == 4)
    // The response whose connection was closed ends, too, and has no place any more.
    places[0].end()
    #expect(all.count == 4)
    // The first network still has most, although fewer than one may have.
    #expect(throws: Downloads.Refusal.ofAll) { _ = try all.admit("a") { cut.add("a5") } }
    let exposition = metrics.exposition(Readings())
    #expect(exposition.contains("\nparley_downloads_cut_total 1\n"))
    #expect(exposition.contains("\nparley_refusals_total{rate=\"downloads\"} 2\n"))
    for place in places { place.end() }
    #expect(cut.names == ["a1"] && all.count == 0)
  }

  @Test func withoutBoundsByNetworkAllShareOneBound() throws {
    let cut = Cut()
    let all = downloads(2, perNetwork: 1, byNetwork: false)
    let places = [try all.admit("a") { cut.add("a1") }, try all.admit("a") { cut.add("a2") }]
    #expect(throws: Downloads.Refusal.ofAll) { _ = try all.admit("b") { cut.add("b1") } }
    #expect(cut.names == [] && all.count == 2)
    for place in places { place.end() }
    #expect(all.count == 0)
  }

  /// What is in memory as a whole counts by its bytes, at least once and at most as much as a network has.
  @Test func whatIsInMemoryTakesSeveralShares() throws {
    let (cut, unit) = (Cut(), HTTPLimits.downloadMemoryBytes)
    let all = downloads(4, perNetwork: 3)
    let long = try all.admit("a", bytes: 2 * unit) { cut.add("a1") }
    #expect(all.count == 1)
    #expect(throws: Downloads.Refusal.ofNetwork) { _ = try all.admit("a", bytes: unit + 1) { cut.add("a2") } }
    let short = try all.admit("a", bytes: unit) { cut.add("a3") }
    #expect(throws: Downloads.Refusal.ofNetwork) { _ = try all.admit("a") { cut.add("a4") } }
    // One share is left, and another network needs two.
    let other = try all.admit("b", bytes: unit + 1) { cut.add("b1") }
    #expect(cut.names == ["a1"] && all.count == 2)
    // Both shares of the one that was cut off are free.
    let again = try all.admit("a") { cut.add("a5") }
    #expect(all.count == 3)
    for place in [long, short, other, again] { place.end() }
    let whole = try all.admit("a", bytes: 100 * unit) { cut.add("a6") }
    #expect(throws: Downloads.Refusal.ofNetwork) { _ = try all.admit("a") { cut.add("a7") } }
    whole.end()
    #expect(cut.names == ["a1"] && all.count == 0)
  }

  /// The place of a response that is sent in any case.
  @Test func aResponseThatIsOwedTakesThePlacesOfItsNetwork() throws {
    let (cut, unit) = (Cut(), HTTPLimits.downloadMemoryBytes)
    let all = downloads(4, perNetwork: 3)
    var places = [try all.admit("a", bytes: 2 * unit) { cut.add("a1") }, try all.admit("a") { cut.add("a2") }]
    places.append(try all.admit("a", bytes: unit, isOwed: true) { cut.add("a3") })
    #expect(cut.names == ["a1"] && all.count == 2)
    // It has the two shares that are left: the other network has no more, and its own has no other.
    places.append(try all.admit("b", bytes: 3 * unit, isOwed: true) { cut.add("b1") })
    #expect(cut.names == ["a1"] && all.count == 3)
    places.append(try all.admit("b", bytes: 9 * unit, isOwed: true) { cut.add("b2") })
    #expect(cut.names == ["a1", "b1"] && all.count == 3)
    for place in places { place.end() }
    #expect(all.count == 0)
  }

  /// Others may have been cut off for a request that is refused all the same; it leaves nothing behind.
  @Test func aRefusalGivesBackWhatItHasTaken() throws {
    let (cut, unit) = (Cut(), HTTPLimits.downloadMemoryBytes)
    let all = downloads(3, perNetwork: 3)
    let places = [try all.admit("a") { cut.add("a1") }, try all.admit("a") { cut.add("a2") }, try all.admit("b") {}]
    #expect(throws: Downloads.Refusal.ofAll) { _ = try all.admit("c", bytes: 3 * unit) { cut.add("c1") } }
    let count = all.count
    #expect(count + cut.names.count == 3)
    // As many are free as were cut off.
    let later = try (count..<3).map { _ in try all.admit("d") { cut.add("d1") } }
    #expect(all.count == 3)
    for place in places + later { place.end() }
    #expect(all.count == 0)
  }

  /// A response that is never written has given its place back.
  @Test func aPlaceThatNothingRefersToIsFree() throws {
    let all = downloads(1, perNetwork: 1)
    func take() throws { _ = try all.admit("a") {} }
    for _ in 0..<3 { try take() }
    #expect(all.count == 0)
  }
}

/// How long a response keeps its place.
@Suite struct DownloadEndTests {
  /// A socket whose client takes nothing until it is let. What waits when it is closed fails.
  private final class Socket: ChannelOutboundHandler {
    typealias OutboundIn = IOData
    private var waiting: [EventLoopPromise<Void>] = []

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      if let promise { waiting.append(promise) }
    }

    func flush(context: ChannelHandlerContext) {}

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
      for each in waiting { each.fail(ChannelError.ioOnClosedChannel) }
      waiting = []
      context.close(mode: mode, promise: promise)
    }

    func take() {
      for each in waiting { each.succeed(()) }
      waiting = []
    }
  }

  private func begin(_ channel: EmbeddedChannel) {
    let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: ["content-length": "8"])
    channel.write(HTTPServerResponsePart.head(head), promise: nil)
    channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(repeating: 1, count: 4))), promise: nil)
  }

  private func end(_ channel: EmbeddedChannel) {
    channel.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(repeating: 1, count: 4))), promise: nil)
    channel.writeAndFlush(HTTPServerResponsePart.end(nil), promise: nil)
  }

  enum Ending: CaseIterable {
    /// The client has taken everything.
    case taken
    /// The connection ends before the response, within it (as it does when the file cannot be read on), or when all is written.
    case brokenBefore, brokenWithin, brokenBehind
  }

  @Test(arguments: Ending.allCases) func aPlaceIsFreeWhenItsResponseEnds(_ ending: Ending) throws {
    let all = downloads(2, perNetwork: 2)
    let (socket, pace) = (Socket(), ResponsePaceHandler())
    let channel = EmbeddedChannel(handlers: [socket, HTTPResponseEncoder(), pace])
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    pace.hold(try all.admit("a") {})
    if ending != .brokenBefore { begin(channel) }
    if ending == .taken || ending == .brokenBehind { end(channel) }
    #expect(all.count == 1)
    if ending == .taken { socket.take() } else { channel.close(promise: nil) }
    #expect(all.count == 0)
    _ = try? channel.finish()
  }

  /// The responses of one connection come one after the other, also to a client that does not wait for them.
  @Test func eachResponseHasItsOwnPlace() throws {
    let all = downloads(2, perNetwork: 2)
    let (socket, pace) = (Socket(), ResponsePaceHandler())
    let channel = EmbeddedChannel(handlers: [socket, HTTPResponseEncoder(), pace])
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    for _ in 0..<2 {
      pace.hold(try all.admit("a") {})
      begin(channel)
      end(channel)
    }
    #expect(all.count == 2)
    // A short response takes none, and does not end that of another.
    begin(channel)
    end(channel)
    #expect(all.count == 2)
    socket.take()
    #expect(all.count == 0 && channel.isActive)
    _ = try? channel.finish()
  }
}

/// Which responses are downloads, and what is answered where there is no place.
@Suite struct DownloadAdmissionTests {
  private func request(_ method: HTTPRequest.Method, from client: String = "198.51.100.1") -> Request {
    Request(
      head: HTTPRequest(
        method: method, scheme: nil, authority: "localhost", path: "/file", headerFields: [.forwardedFor: client]),
      body: RequestBody(buffer: ByteBuffer()))
  }

  private func context(_ channel: EmbeddedChannel, _ all: Downloads) -> HTTPContext {
    // Hummingbird reads the request's id from it.
    var logger = Logger(label: "test") { StreamLogHandler.standardError(label: $0) }
    logger[metadataKey: "hb.request.id"] = "1"
    var context = HTTPContext(source: ApplicationRequestContextSource(channel: channel, logger: logger))
    context.downloads = all
    return context
  }

  private func response(_ count: Int?) -> Response {
    Response(
      status: .ok,
      headers: [.acceptRanges: "bytes", .accessControlAllowOrigin: "*", .accessControlExposeHeaders: "Retry-After"],
      body: ResponseBody(contentLength: count) { _ in })
  }

  private func open(_ channel: EmbeddedChannel) throws {
    let proxy = try SocketAddress(ipAddress: "127.0.0.1", port: 1)
    try channel.connect(to: proxy).wait()
    channel.remoteAddress = proxy
  }

  @Test func onlyLongResponsesAreDownloads() throws {
    let all = downloads(1, perNetwork: 1)
    let channel = EmbeddedChannel(handlers: [ResponsePaceHandler()])
    try open(channel)
    let context = context(channel, all)
    let long = HTTPLimits.downloadBytesLeast
    for (method, count) in [
      (HTTPRequest.Method.get, long - 1), (.get, nil), (.head, long), (.post, long - 1), (.post, nil),
    ] as [(HTTPRequest.Method, Int?)] {
      #expect(context.admit(response(count), to: request(method)).status == .ok)
      #expect(all.count == 0, "\(method) \(count ?? -1)")
    }
    #expect(context.admit(response(long), to: request(.get)).status == .ok)
    channel.embeddedEventLoop.run()
    #expect(all.count == 1)
    channel.close(promise: nil)
    #expect(all.count == 0)
    _ = try? channel.finish()
  }

  /// The client of another method has to know what it has changed. Its response takes the place of the oldest download of its network,
  /// also of another such response, so that no more than the bound waits for clients that read nothing.
  @Test(arguments: [HTTPRequest.Method.post, .put, .patch, .delete])
  func theResponseToAnotherMethodIsSentAndCounts(method: HTTPRequest.Method) throws {
    let all = downloads(8, perNetwork: 2)
    let channels = (0..<4).map { _ in EmbeddedChannel(handlers: [ResponsePaceHandler()]) }
    for (channel, method) in zip(channels, [.get, method, method, method]) {
      try open(channel)
      #expect(context(channel, all).admit(response(1 << 20), to: request(method)).status == .ok)
      for channel in channels { channel.embeddedEventLoop.run() }
    }
    #expect(channels.map(\.isActive) == [false, false, true, true])
    #expect(all.count == 2)
    #expect(context(channels[3], all).admit(response(1 << 20), to: request(.get)).status.code == 429)
    for channel in channels { _ = try? channel.finish() }
    #expect(all.count == 0)
  }

  /// Of a file no more than pieces is in memory, and all of anything else.
  @Test(
    arguments: [([:], 429), ([.acceptRanges: "none"], 429), ([.acceptRanges: "bytes"], 200)] as [(HTTPFields, Int)])
  func onlyFilesAreReadPieceByPiece(headers: HTTPFields, status: Int) throws {
    let all = downloads(3, perNetwork: 3)
    let channel = EmbeddedChannel(handlers: [ResponsePaceHandler()])
    try open(channel)
    let context = context(channel, all)
    let body = ResponseBody(byteBuffer: ByteBuffer(repeating: 1, count: 2 * HTTPLimits.downloadMemoryBytes))
    let long = Response(status: .ok, headers: headers, body: body)
    #expect(context.admit(long, to: request(.get)).status == .ok)
    #expect(context.admit(long, to: request(.get)).status.code == status)
    channel.embeddedEventLoop.run()
    _ = try? channel.finish()
  }

  @Test func aClientThatHasGoneMeanwhileHasNoPlace() throws {
    let all = downloads(1, perNetwork: 1)
    let channel = EmbeddedChannel()
    #expect(context(channel, all).admit(response(1 << 20), to: request(.get)).status == .ok)
    channel.embeddedEventLoop.run()
    #expect(all.count == 0)
    _ = try? channel.finish()
  }

  /// A page of another origin can read why, and when to ask again (XEP-0363 8).
  @Test(arguments: [(1, 429), (2, 503)])
  func whereThereIsNoPlaceTheAnswerSaysWhen(perNetwork: Int, status: Int) throws {
    let all = downloads(1, perNetwork: perNetwork)
    let channel = EmbeddedChannel(handlers: [ResponsePaceHandler()])
    try open(channel)
    let context = context(channel, all)
    #expect(context.admit(response(1 << 20), to: request(.get)).status == .ok)
    channel.embeddedEventLoop.run()
    let refusal = context.admit(response(1 << 20), to: request(.get))
    #expect(refusal.status.code == status)
    #expect(refusal.headers[.retryAfter] == "5")
    #expect(refusal.headers[.contentType] == "application/problem+json")
    #expect(refusal.headers[.accessControlAllowOrigin] == "*")
    #expect(refusal.headers[.accessControlExposeHeaders] == "Retry-After")
    #expect(all.count == 1)
    _ = try? channel.finish()
  }

  @Test func theConnectionOfTheOneThatGivesWayIsClosed() throws {
    let all = downloads(1, perNetwork: 1)
    let channels = (0..<2).map { _ in EmbeddedChannel(handlers: [ResponsePaceHandler()]) }
    for (channel, client) in zip(channels, ["198.51.100.1", "198.51.100.2"]) {
      try open(channel)
      #expect(context(channel, all).admit(response(1 << 20), to: request(.get, from: client)).status == .ok)
      for channel in channels { channel.embeddedEventLoop.run() }
    }
    #expect(channels.map(\.isActive) == [false, true])
    #expect(all.count == 1)
    for channel in channels { _ = try? channel.finish() }
    #expect(all.count == 0)
  }

  /// Another thread gives the place away while the last bytes are taken: the connection may serve the next request by then.
  @Test func aConnectionWhoseDownloadHasEndedMeanwhileStays() throws {
    let all = downloads(1, perNetwork: 1)
    let channels = (0..<2).map { _ in EmbeddedChannel(handlers: [ResponsePaceHandler()]) }
    for channel in channels { try open(channel) }
    let (first, second) = (context(channels[0], all), context(channels[1], all))
    #expect(first.admit(response(1 << 20), to: request(.get)).status == .ok)
    channels[0].embeddedEventLoop.run()
    #expect(second.admit(response(1 << 20), to: request(.get, from: "198.51.100.2")).status == .ok)
    channels[0].writeAndFlush(HTTPServerResponsePart.end(nil), promise: nil)
    for channel in channels { channel.embeddedEventLoop.run() }
    #expect(channels.allSatisfy(\.isActive) && all.count == 1)
    for channel in channels { _ = try? channel.finish() }
  }

  /// The place is given away before the connection knows of it.
  @Test func aPlaceCanBeLostAtOnce() throws {
    let all = downloads(1, perNetwork: 1)
    let pace = ResponsePaceHandler()
    let lost = try all.admit("a") {}
    let place = try all.admit("b") {}
    pace.hold(place)
    #expect(!pace.hasLostPlace)
    pace.hold(lost)
    #expect(pace.hasLostPlace)
    for each in [lost, place] { each.end() }
  }
}

/// Responses that are read piece by piece.
@Suite struct PiecewiseBodyTests {
  /// Takes everything at once, as the queue of NIO's writer does.
  private struct Queue: ResponseBodyWriter {
    mutating func write(_ buffer: ByteBuffer) async throws {}
    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
  }

  private final class Count: Sendable {
    let value = Atomic(0)
  }

  /// While the event loop is busy no more than one piece is read that it does not know of.
  @Test func aPieceIsReadOnceTheLoopHasTheOneBefore() async throws {
    let (channel, read, busy) = (NIOAsyncTestingChannel(), Count(), DispatchSemaphore(value: 0))
    let context = HTTPContext(
      source: ApplicationRequestContextSource(channel: channel, logger: Logger(label: "test")))
    let body = context.body(length: 10) { _ in
      read.value.wrappingAdd(1, ordering: .relaxed)
      return ByteBuffer(repeating: 0, count: 1)
    }
    channel.testingEventLoop.execute { busy.wait() }
    let written = Task { try await body.write(Queue()) }
    while read.value.load(ordering: .relaxed) == 0 { await Task.yield() }
    for _ in 0..<1_000 { await Task.yield() }
    #expect(read.value.load(ordering: .relaxed) == 1)
    busy.signal()
    try await written.value
    #expect(read.value.load(ordering: .relaxed) == 10)
  }
}
