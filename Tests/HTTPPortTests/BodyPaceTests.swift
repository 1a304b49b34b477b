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

  private func channel(
    _ loop: EmbeddedEventLoop, _ handler: BodyPaceHandler = BodyPaceHandler()
  ) throws -> EmbeddedChannel {
    let channel = EmbeddedChannel(handler: handler, loop: loop)
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    return channel
  }

  private let head = HTTPServerRequestPart.head(HTTPRequestHead(version: .http1_1, method: .PUT, uri: "/"))

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
    let (loop, handler) = (EmbeddedEventLoop(), BodyPaceHandler())
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

  /// A body whose memory others need is refused until later, but only while it is not complete.
  @Test func anUnfinishedBodyGivesWay() throws {
    let (loop, handler) = (EmbeddedEventLoop(), BodyPaceHandler())
    let channel = try channel(loop, handler)
    let context = try channel.pipeline.syncOperations.context(handler: handler)
    receive([head, .end(nil)], channel)
    handler.giveWay(context)
    #expect(channel.isActive)
    #expect(try status(channel) == nil)
    receive([head, .body(ByteBuffer(bytes: [1]))], channel)
    handler.giveWay(context)
    #expect(!channel.isActive)
    guard case .head(let answer)? = try channel.readOutbound(as: HTTPServerResponsePart.self) else {
      Issue.record("there is no response")
      return
    }
    #expect(answer.status == .serviceUnavailable)
    #expect(answer.headers["retry-after"] == ["5"] && answer.headers["connection"] == ["close"])
    #expect(!handler.isTooSlow)
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
