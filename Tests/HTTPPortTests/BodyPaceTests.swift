import Basics
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import HTTPPort

@Suite struct BodyPaceTests {
  private func at(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .seconds(seconds) }
  private var grace: Int64 { HTTPLimits.bodyGrace.nanoseconds / 1_000_000_000 }

  @Test func onlyWaitingCounts() {
    var pace = BodyPace()
    #expect(pace.left(at: at(1_000)) == HTTPLimits.bodyGrace)
    pace.wait(at: at(0))
    pace.wait(at: at(5))
    #expect(pace.left(at: at(10)) == .seconds(grace - 10))
    pace.receive(0, at: at(10))
    // Busy with what has come.
    #expect(pace.left(at: at(500)) == .seconds(grace - 10))
    pace.wait(at: at(500))
    #expect(pace.left(at: at(500 + grace)) == .zero)
    pace.receive(Int(HTTPLimits.bodyBytesPerSecond) * 7, at: at(500))
    #expect(pace.left(at: at(500)) == .seconds(grace - 3))
  }

  /// A socket whose halves can be closed one by one; an embedded channel would close both.
  private final class Halves: ChannelOutboundHandler {
    typealias OutboundIn = HTTPServerResponsePart

    private(set) var isOutputClosed = false

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
      guard case .output = mode else { return context.close(mode: mode, promise: promise) }
      isOutputClosed = true
      promise?.succeed()
    }
  }

  private let memory = HTTPMemory(withoutLogin: MemoryBound(), loggedIn: MemoryBound(), unfinished: MemoryBound())
  /// The bytes that are counted without a login, and those of logged-in users.
  private var counted: [Int] { [memory.withoutLogin.bytes, memory.loggedIn.bytes] }
  private let request = HTTPLimits.requestBytes

  private func handler(_ memory: HTTPMemory? = nil) -> BodyPaceHandler {
    BodyPaceHandler(memory: memory ?? self.memory, proxies: TrustedProxies())
  }

  private func channel(_ loop: EmbeddedEventLoop, _ handler: BodyPaceHandler? = nil) throws -> EmbeddedChannel {
    let channel = EmbeddedChannel(handler: handler ?? self.handler(), loop: loop)
    let remote = try SocketAddress(ipAddress: "127.0.0.1", port: 1)
    try channel.connect(to: remote).wait()
    channel.remoteAddress = remote
    return channel
  }

  private func piece(_ count: Int) -> HTTPServerRequestPart { .body(ByteBuffer(repeating: 1, count: count)) }

  private func answer(_ channel: EmbeddedChannel, _ status: HTTPResponseStatus = .ok) throws {
    try channel.writeOutbound(HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: status)))
    try channel.writeOutbound(HTTPServerResponsePart.end(nil))
    channel.embeddedEventLoop.run()
  }

  /// Returns the head of the first response that was written, and forgets all.
  private func response(_ channel: EmbeddedChannel) throws -> HTTPResponseHead? {
    let first = try channel.readOutbound(as: HTTPServerResponsePart.self)
    while try channel.readOutbound(as: HTTPServerResponsePart.self) != nil {}
    guard case .head(let head)? = first else { return nil }
    return head
  }

  /// Returns the number of parts that were passed on, and forgets them.
  private func passed(_ channel: EmbeddedChannel) throws -> Int {
    var count = 0
    while try channel.readInbound(as: HTTPServerRequestPart.self) != nil { count += 1 }
    return count
  }

  private let head = HTTPServerRequestPart.head(HTTPRequestHead(version: .http1_1, method: .PUT, uri: "/"))

  /// Returns the head of a request whose body has so many bytes.
  private func head(of length: Int, _ more: HTTPHeaders = [:]) -> HTTPServerRequestPart {
    var headers: HTTPHeaders = ["content-length": "\(length)"]
    headers.add(contentsOf: more)
    return .head(HTTPRequestHead(version: .http1_1, method: .PUT, uri: "/", headers: headers))
  }

  private func receive(_ parts: [HTTPServerRequestPart], _ channel: EmbeddedChannel) {
    for part in parts { channel.pipeline.fireChannelRead(part) }
    channel.pipeline.fireChannelReadComplete()
    channel.read()
  }

  private func status(_ channel: EmbeddedChannel) throws -> HTTPResponseStatus? {
    guard case .head(let head)? = try channel.readOutbound(as: HTTPServerResponsePart.self) else { return nil }
    return head.status
  }

  /// A byte now and then holds nothing for long.
  @Test func aTricklingClientIsToldAndCutOff() throws {
    let (loop, handler) = (EmbeddedEventLoop(), handler())
    let channel = try channel(loop, handler)
    receive([head], channel)
    #expect(!handler.isTooSlow)
    var seconds: Int64 = 0
    while channel.isActive, seconds < 10 * grace {
      loop.advanceTime(by: .seconds(1))
      seconds += 1
      if channel.isActive { receive([.body(ByteBuffer(bytes: [1]))], channel) }
    }
    #expect(!channel.isActive)
    #expect((grace...grace + 1).contains(seconds))
    #expect(try status(channel) == .requestTimeout)
    // The log has it.
    #expect(handler.isTooSlow)
    _ = try? channel.finish()
  }

  /// A body that keeps a place from others has some time, even if it comes at the least rate. One that comes on a slow line suffices.
  @Test func aBodyThatHasAPlaceIsBoundedInTime() throws {
    let (loop, handler) = (EmbeddedEventLoop(), handler())
    let channel = try channel(loop, handler)
    let context = try channel.pipeline.syncOperations.context(handler: handler)
    let refusal = HTTPRefusal(status: 408, code: "picture-slow", detail: "Send a smaller one.")
    func send(_ bytesPerSecond: Int, seconds: Int) {
      for _ in 0..<seconds {
        loop.advanceTime(by: .seconds(1))
        if channel.isActive { receive([piece(bytesPerSecond)], channel) }
      }
    }
    // The bound is that of the first request alone.
    for (isBounded, bytesPerSecond, seconds) in [(true, 30_000, 35), (false, 5_000, 100)] {
      receive([head], channel)
      if isBounded { handler.bound(context, to: .seconds(40), refusal) }
      send(bytesPerSecond, seconds: seconds)
      receive([.end(nil)], channel)
      #expect(channel.isActive)
      try answer(channel)
      #expect(try response(channel)?.status == .ok)
    }
    receive([head], channel)
    handler.bound(context, to: .seconds(40), refusal)
    send(5_000, seconds: 39)
    #expect(channel.isActive && !handler.isTooSlow)
    send(5_000, seconds: 1)
    #expect(!channel.isActive && handler.isTooSlow)
    #expect(try status(channel) == .requestTimeout)
    guard case .body(.byteBuffer(let body))? = try channel.readOutbound(as: HTTPServerResponsePart.self) else {
      Issue.record("the answer has no content")
      return
    }
    #expect(String(buffer: body).contains("picture-slow"))
    _ = try? channel.finish()
  }

  /// A body whose memory others need is refused until later, but only while it is not complete.
  @Test func anUnfinishedBodyGivesWay() throws {
    let (loop, handler) = (EmbeddedEventLoop(), handler())
    let channel = try channel(loop, handler)
    let context = try channel.pipeline.syncOperations.context(handler: handler)
    receive([head, .end(nil)], channel)
    handler.giveWay(context)
    #expect(channel.isActive)
    #expect(try status(channel) == nil)
    try answer(channel)
    #expect(try response(channel)?.status == .ok)
    receive([head, piece(1)], channel)
    handler.giveWay(context)
    #expect(!channel.isActive)
    let refusal = try #require(try response(channel))
    #expect(refusal.status == .serviceUnavailable)
    #expect(refusal.headers["retry-after"] == ["5"] && refusal.headers["connection"] == ["close"])
    #expect(!handler.isTooSlow)
    _ = try? channel.finish()
  }

  /// A client would take an answer to it for that to the request before it.
  @Test func aBodyBehindAnotherRequestGivesWayWithoutAnAnswer() throws {
    let handler = handler()
    let channel = try channel(EmbeddedEventLoop(), handler)
    receive([head, .end(nil), head], channel)
    #expect(counted == [request, 0])
    handler.giveWay(try channel.pipeline.syncOperations.context(handler: handler))
    #expect(!channel.isActive && counted == [0, 0])
    #expect(try response(channel) == nil)
    _ = try? channel.finish()
  }

  @Test func anIncompleteBodyCountsFromItsHeadOn() throws {
    let handler = handler()
    let channel = try channel(EmbeddedEventLoop(), handler)
    let context = try channel.pipeline.syncOperations.context(handler: handler)
    // One that comes with its head takes nothing for long.
    receive([head, piece(20_000), .end(nil)], channel)
    try answer(channel)
    #expect(memory.withoutLogin.takePeak().held == 0)
    receive([head], channel)
    #expect(counted == [request, 0])
    receive([piece(20_000)], channel)
    #expect(counted == [request + 32_768, 0])
    handler.logIn(context, isOnDisk: false)
    #expect(counted == [0, request + 32_768])
    receive([.end(nil)], channel)
    #expect(counted == [0, 0])
    // Nobody knows whose the request behind it is.
    receive([head], channel)
    #expect(counted == [request, 0])
    try answer(channel)
    handler.logIn(context, isOnDisk: true)
    #expect(counted == [0, 0])
    receive([piece(20_000)], channel)
    #expect(counted == [0, 0])
    receive([.end(nil)], channel)
    try answer(channel)
    // A login is that of one request.
    receive([head], channel)
    #expect(counted == [request, 0])
    _ = try? channel.finish()
    #expect(counted == [0, 0])
  }

  @Test func theNetworkWithTheMostIncompleteBodiesLosesTheOldest() throws {
    let loop = EmbeddedEventLoop()
    let memory = HTTPMemory(
      withoutLogin: MemoryBound(bytesMax: 2 * request), loggedIn: MemoryBound(), unfinished: MemoryBound())
    let channels = try ["192.0.2.1", "192.0.2.1", "192.0.2.2"].map { client in
      let channel = try channel(loop, handler(memory))
      let headers: HTTPHeaders = ["x-forwarded-for": client]
      receive([.head(HTTPRequestHead(version: .http1_1, method: .PUT, uri: "/", headers: headers))], channel)
      return channel
    }
    loop.run()
    #expect(channels.map(\.isActive) == [false, true, true])
    #expect(try response(channels[0])?.status == .serviceUnavailable)
    #expect(memory.withoutLogin.bytes == 2 * request)
    for channel in channels { _ = try? channel.finish() }
  }

  @Test func anUpgradeEndsTheCount() throws {
    let handler = handler()
    let channel = try channel(EmbeddedEventLoop(), handler)
    receive([head], channel)
    #expect(counted == [request, 0])
    channel.pipeline.syncOperations.removeHandler(handler, promise: nil)
    #expect(counted == [0, 0])
    _ = try? channel.finish()
  }

  /// Many clients send head and body in two packets.
  @Test func aRefusalBeforeTheEndOfAShortBodyEndsNothing() throws {
    let halves = Halves()
    let channel = try channel(EmbeddedEventLoop())
    try channel.pipeline.syncOperations.addHandler(halves, position: .first)
    let most = Int(HTTPLimits.drainedBytesMax)
    receive([head(of: most + 1), piece(1)], channel)
    #expect(counted == [request + MemoryBound.shareBytes, 0])
    try answer(channel, .unauthorized)
    #expect(try response(channel)?.headers["connection"] == [])
    // It counts until it has come, but is kept nowhere.
    receive([piece(most - 1)], channel)
    #expect(counted == [request, 0])
    receive([piece(1), .end(nil)], channel)
    #expect(counted == [0, 0])
    #expect(try passed(channel) == 5)
    receive([head(of: 1)], channel)
    #expect(counted == [request, 0])
    receive([piece(1), .end(nil)], channel)
    try answer(channel)
    #expect(try response(channel)?.status == .ok)
    #expect(channel.isActive && !halves.isOutputClosed && counted == [0, 0])
    receive([head(of: most + 1)], channel)
    try answer(channel, .unauthorized)
    #expect(try response(channel)?.headers["connection"] == ["close"])
    _ = try? channel.finish()
  }

  @Test func whatIsLeftOfARefusedBodyGivesWay() throws {
    let handler = handler()
    let channel = try channel(EmbeddedEventLoop(), handler)
    let context = try channel.pipeline.syncOperations.context(handler: handler)
    receive([head(of: 1)], channel)
    // What still comes of an upload does not go to the disk any more.
    handler.logIn(context, isOnDisk: true)
    #expect(counted == [0, 0])
    try answer(channel, .conflict)
    #expect(try response(channel)?.status == .conflict)
    #expect(counted == [request, 0])
    handler.giveWay(context)
    #expect(!channel.isActive && counted == [0, 0])
    #expect(try response(channel) == nil)
    _ = try? channel.finish()
  }

  /// RFC 9110 10.1.1: a client that has not got 100 need not send its body.
  @Test func aRefusalInsteadOfTheContinueEndsTheConnection() throws {
    let channel = try channel(EmbeddedEventLoop())
    try channel.pipeline.syncOperations.addHandler(ContinueHandler(), position: .first)
    let asking = head(of: 2, ["expect": "100-continue"])
    receive([asking], channel)
    #expect(try response(channel)?.status == .continue)
    try answer(channel, .unauthorized)
    #expect(try response(channel)?.headers["connection"] == [])
    receive([piece(2), .end(nil)], channel)
    // Behind another request the client gets no 100.
    receive([head, .end(nil), asking], channel)
    try answer(channel)
    #expect(try response(channel)?.status == .ok)
    try answer(channel, .unauthorized)
    #expect(try response(channel)?.headers["connection"] == ["close"])
    _ = try? channel.finish()
  }

  /// RFC 9112 9.6: the client can read the response while it sends, and the server reads only what it is sending.
  @Test(arguments: [true, false]) func aRefusalBeforeTheEndOfALongBodyEndsTheConnection(isChunked: Bool) throws {
    let halves = Halves()
    let channel = try channel(EmbeddedEventLoop())
    try channel.pipeline.syncOperations.addHandler(halves, position: .first)
    receive([isChunked ? head : head(of: 200_000), piece(40_000)], channel)
    #expect(counted == [request + 65_536, 0])
    try answer(channel, .tooManyRequests)
    let refusal = try #require(try response(channel))
    #expect(refusal.status == .tooManyRequests && refusal.headers["connection"] == ["close"])
    #expect(halves.isOutputClosed && channel.isActive)
    #expect(try passed(channel) == 2)
    receive([piece(40_000)], channel)
    // It is not kept.
    #expect(channel.isActive && counted == [request, 0])
    // The end of the body ends the connection, and what follows is not handled.
    receive([.end(nil), head, .end(nil)], channel)
    #expect(!channel.isActive && counted == [0, 0])
    #expect(try passed(channel) == 0)
    _ = try? channel.finish()
  }

  @Test func suchAConnectionHasSomeTimeAndBytes() throws {
    let loop = EmbeddedEventLoop()
    func refused() throws -> EmbeddedChannel {
      let channel = try channel(loop)
      try channel.pipeline.syncOperations.addHandler(Halves(), position: .first)
      receive([head], channel)
      try answer(channel, .tooManyRequests)
      #expect(channel.isActive && counted == [request, 0])
      return channel
    }
    let long = try refused()
    receive([piece(Int(HTTPLimits.lingerBytesMax))], long)
    #expect(long.isActive)
    receive([piece(1)], long)
    #expect(!long.isActive)
    let slow = try refused()
    loop.advanceTime(by: HTTPLimits.bodyGrace)
    #expect(!slow.isActive && counted == [0, 0])
    for channel in [long, slow] { _ = try? channel.finish() }
  }

  /// A response to an earlier request ends nothing.
  @Test func aResponseBeforeTheLastHeadEndsNothing() throws {
    let (loop, halves) = (EmbeddedEventLoop(), Halves())
    let channel = try channel(loop)
    try channel.pipeline.syncOperations.addHandler(halves, position: .first)
    receive([head, .end(nil), head], channel)
    try answer(channel)
    #expect(try response(channel)?.headers["connection"] == [])
    receive([.end(nil)], channel)
    try answer(channel)
    #expect(try response(channel)?.headers["connection"] == [])
    loop.advanceTime(by: HTTPLimits.bodyGrace)
    #expect(channel.isActive && !halves.isOutputClosed)
    _ = try? channel.finish()
  }

  @Test func aClientThatIsFastEnoughIsLeftAlone() throws {
    let loop = EmbeddedEventLoop()
    let channel = try channel(loop)
    receive([head], channel)
    let piece = ByteBuffer(repeating: 1, count: Int(HTTPLimits.bodyBytesPerSecond))
    for _ in 0..<10 * grace {
      loop.advanceTime(by: .seconds(1))
      receive([.body(piece)], channel)
    }
    #expect(channel.isActive)
    receive([.end(nil)], channel)
    loop.advanceTime(by: .hours(1))
    #expect(channel.isActive)
    #expect(try status(channel) == nil)
    // The next request begins anew.
    receive([head], channel)
    loop.advanceTime(by: .seconds(grace - 1))
    #expect(channel.isActive)
    loop.advanceTime(by: .seconds(1))
    #expect(!channel.isActive)
    _ = try? channel.finish()
  }

  /// The port reads no further: it waits for its own disk, not for the other end.
  @Test func aClientThatIsNotReadFromIsNotSlow() throws {
    let loop = EmbeddedEventLoop()
    let channel = try channel(loop)
    channel.pipeline.fireChannelRead(head)
    channel.pipeline.fireChannelReadComplete()
    loop.advanceTime(by: .hours(1))
    #expect(channel.isActive)
    _ = try? channel.finish()
  }

  /// A second answer would be taken for the next one's.
  @Test func aRequestThatIsBeingAnsweredIsOnlyCutOff() throws {
    let loop = EmbeddedEventLoop()
    let channel = try channel(loop)
    receive([head], channel)
    try channel.writeOutbound(HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .ok)))
    #expect(try status(channel) == .ok)
    loop.advanceTime(by: HTTPLimits.bodyGrace)
    #expect(!channel.isActive)
    #expect(try status(channel) == nil)
    _ = try? channel.finish()
  }
}
