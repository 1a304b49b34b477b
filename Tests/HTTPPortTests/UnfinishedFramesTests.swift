import Basics
import NIOCore
import NIOEmbedded
import NIOWebSocket
import Testing

@testable import HTTPPort

/// The messages of a WebSocket that are not complete.
@Suite struct UnfinishedFramesTests {
  /// Returns a frame as a client sends it.
  private func frame(_ count: Int, fin: Bool = true, opcode: WebSocketOpcode = .text) throws -> ByteBuffer {
    let channel = EmbeddedChannel(handler: WebSocketFrameEncoder())
    let data = ByteBuffer(repeating: 0x78, count: count)
    try channel.writeOutbound(WebSocketFrame(fin: fin, opcode: opcode, maskKey: [1, 2, 3, 4], data: data))
    var all = ByteBuffer()
    while var piece = try channel.readOutbound(as: ByteBuffer.self) { all.writeBuffer(&piece) }
    _ = try? channel.finish()
    return all
  }

  @Test(arguments: [1, 3, 1_000, 200_000]) func lengthsAreReadHoweverTheyCome(step: Int) throws {
    var lengths = FrameLengths()
    func read(_ bytes: ByteBuffer, _ bytesMax: Int) -> Bool {
      var (rest, isRead) = (bytes, true)
      while isRead, let piece = rest.readSlice(length: min(step, rest.readableBytes)), piece.readableBytes > 0 {
        isRead = lengths.read(piece.readableBytesView, bytesMax: bytesMax) != nil
      }
      return isRead
    }
    for count in [0, 1, 125, 126, 65_535, 65_536, 70_000] {
      #expect(try read(frame(count), 70_000))
      #expect(lengths.bytes == 0)
    }
    // Fragments are one message; a ping between them is none of it.
    #expect(try read(frame(60_000, fin: false), 70_000))
    #expect(try read(frame(125, opcode: .ping), 70_000))
    #expect(lengths.bytes == 60_000)
    #expect(try read(frame(10_000, opcode: .continuation), 70_000))
    #expect(lengths.bytes == 0)
    #expect(try read(frame(60_000, fin: false), 70_000))
    #expect(try !read(frame(10_001, opcode: .continuation), 70_000))
    lengths = FrameLengths()
    #expect(try !read(frame(70_001), 70_000))
    lengths = FrameLengths()
    // The longest that a header can announce.
    #expect(!read(ByteBuffer(bytes: [0x81, 0xFF] + Array(repeating: 0xFF, count: 12)), 70_000))
  }

  private static let share = MemoryBound.shareBytes
  private let memory = HTTPMemory(
    withoutLogin: MemoryBound(), loggedIn: MemoryBound(), unfinished: MemoryBound(bytesMax: 20 * Self.share))
  /// The bytes that are counted without a login, and those of logged-in users.
  private var counted: [Int] { [memory.withoutLogin.bytes, memory.unfinished.bytes] }

  private func socket(
    _ loop: EmbeddedEventLoop = EmbeddedEventLoop(), user: String? = nil
  ) -> (handler: UnfinishedFrames, channel: EmbeddedChannel) {
    let handler = UnfinishedFrames(bytesMax: 20_000, memory: memory, peer: "192.0.2.1")
    let channel = EmbeddedChannel(handler: handler, loop: loop)
    if let user { handler.logIn(user) }
    return (handler, channel)
  }

  /// Returns the beginning of a frame, of so many bytes, and what follows.
  private func halves(of frame: ByteBuffer, at count: Int) throws -> (ByteBuffer, ByteBuffer) {
    var end = frame
    let begin = end.readSlice(length: count)
    return (try #require(begin), end)
  }

  @Test func theyAreBoundedAndCountedUntilTheLogin() throws {
    let (handler, channel) = socket()
    let (begin, end) = try halves(of: frame(20_000), at: 17_000)
    try channel.writeInbound(begin)
    #expect(counted == [3 * Self.share, 0])
    try channel.writeInbound(end)
    #expect(counted == [0, 0])
    #expect(try channel.readInbound(as: ByteBuffer.self) == begin)
    #expect(try channel.readInbound(as: ByteBuffer.self) == end)
    // What is under way at the login counts for the user from then on, unless it is small.
    try channel.writeInbound(begin)
    handler.logIn("juliet@localhost")
    #expect(counted == [0, 0])
    try channel.writeInbound(end)
    let large = try halves(of: frame(100_000), at: 90_000)
    try channel.writeInbound(large.0)
    #expect(counted == [0, 11 * Self.share])
    try channel.writeInbound(large.1)
    #expect(counted == [0, 0])
    try channel.writeInbound(large.0)
    _ = try? channel.finish()
    #expect(counted == [0, 0])
  }

  /// Fragments are a message as well.
  @Test func theUserWithTheMostLosesTheOldest() throws {
    let loop = EmbeddedEventLoop()
    let channels = ["juliet", "juliet", "romeo"].map { socket(loop, user: $0).channel }
    for channel in channels {
      try channel.writeInbound(try frame(25_000, fin: false))
      try channel.writeInbound(try halves(of: frame(30_000, opcode: .continuation), at: 25_000).0)
    }
    #expect(counted == [0, 14 * Self.share])
    loop.run()
    #expect(throws: LostMessage.memory) { try channels[0].throwIfErrorCaught() }
    for channel in channels.dropFirst() { try channel.throwIfErrorCaught() }
    for channel in channels { _ = try? channel.finish() }
    #expect(counted == [0, 0])
  }

  @Test func aMessageIsCompleteInTime() throws {
    let loop = EmbeddedEventLoop()
    let (_, channel) = socket(loop, user: "juliet")
    let (begin, end) = try halves(of: frame(100), at: 50)
    try channel.writeInbound(begin)
    channel.read()
    // Each ends in time, and the next begins with the same read.
    for _ in 1...3 {
      loop.advanceTime(by: HTTPLimits.messageTime - .seconds(1))
      var both = end
      both.writeImmutableBuffer(begin)
      try channel.writeInbound(both)
      channel.read()
    }
    // The time in which nothing is read does not count.
    try channel.writeInbound(ByteBuffer(repeating: 0x78, count: 1))
    loop.advanceTime(by: HTTPLimits.messageTime * 3)
    channel.read()
    loop.advanceTime(by: HTTPLimits.messageTime - .seconds(1))
    try channel.throwIfErrorCaught()
    while try channel.readInbound(as: ByteBuffer.self) != nil {}
    loop.advanceTime(by: .seconds(1))
    #expect(throws: LostMessage.late) { try channel.throwIfErrorCaught() }
    try channel.writeInbound(end)
    #expect(try channel.readInbound(as: ByteBuffer.self) == nil)
    _ = try? channel.finish()
  }

  @Test func pingsBetweenFragmentsGiveNoTime() throws {
    let loop = EmbeddedEventLoop()
    let (_, channel) = socket(loop, user: "juliet")
    try channel.writeInbound(try frame(0, fin: false))
    channel.read()
    let pause = TimeAmount.nanoseconds(HTTPLimits.messageTime.nanoseconds / 3)
    for _ in 1...2 {
      loop.advanceTime(by: pause)
      try channel.writeInbound(try frame(1, opcode: .ping))
      channel.read()
    }
    loop.advanceTime(by: pause)
    #expect(throws: LostMessage.late) { try channel.throwIfErrorCaught() }
    _ = try? channel.finish()
  }

  /// A slice would keep in memory all that was read with it.
  @Test func whatIsKeptIsKeptAlone() throws {
    let (_, channel) = socket()
    let first = try frame(15_000)
    var read = first
    let next = try halves(of: frame(10_000), at: 20).0
    read.writeImmutableBuffer(next)
    try channel.writeInbound(read)
    #expect(try channel.readInbound(as: ByteBuffer.self) == first)
    let kept = try #require(try channel.readInbound(as: ByteBuffer.self))
    #expect(kept == next && kept.storageCapacity <= 2 * next.readableBytes)
    _ = try? channel.finish()
    // A fragment waits in the aggregator.
    let rules = EmbeddedChannel(handler: FrameRules())
    let data = try halves(of: read, at: 100).0
    try rules.writeInbound(WebSocketFrame(fin: false, opcode: .text, maskKey: [1, 2, 3, 4], data: data))
    let fragment = try #require(try rules.readInbound(as: WebSocketFrame.self))
    #expect(!fragment.fin && fragment.data == data && fragment.data.storageCapacity <= 2 * data.readableBytes)
    _ = try? rules.finish()
  }

  @Test func aLongerOneIsRefusedBeforeItIsRead() throws {
    let (_, channel) = socket()
    let start = try #require(try frame(20_001).getSlice(at: 0, length: 20))
    #expect(throws: NIOWebSocketError.invalidFrameLength) { try channel.writeInbound(start) }
    // Nothing of it is passed on, nor what follows.
    try channel.writeInbound(try frame(1))
    #expect(try channel.readInbound(as: ByteBuffer.self) == nil)
    _ = try? channel.finish()
  }
}
