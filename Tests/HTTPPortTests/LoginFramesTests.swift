import Basics
import NIOCore
import NIOEmbedded
import NIOWebSocket
import Testing

@testable import HTTPPort

/// The messages of a WebSocket before its login.
@Suite struct LoginFramesTests {
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
        isRead = lengths.read(piece.readableBytesView, bytesMax: bytesMax)
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

  @Test func theyAreBoundedAndCountedUntilTheLogin() throws {
    let memory = MemoryBound()
    let handler = LoginFrames(bytesMax: 20_000)
    handler.memory = memory.enter("a") {}
    let channel = EmbeddedChannel(handler: handler)
    var half = try frame(20_000)
    let begin = half.readSlice(length: 17_000)
    let first = try #require(begin)
    try channel.writeInbound(first)
    #expect(memory.bytes == 2 * MemoryBound.shareBytes)
    try channel.writeInbound(half)
    #expect(memory.bytes == 0)
    #expect(try channel.readInbound(as: ByteBuffer.self) == first)
    #expect(try channel.readInbound(as: ByteBuffer.self) == half)
    handler.logIn()
    let large = try frame(100_000)
    try channel.writeInbound(large)
    #expect(try channel.readInbound(as: ByteBuffer.self) == large)
    #expect(memory.bytes == 0)
    _ = try? channel.finish()
  }

  @Test func aLongerOneIsRefusedBeforeItIsRead() throws {
    let handler = LoginFrames(bytesMax: 20_000)
    let channel = EmbeddedChannel(handler: handler)
    let start = try #require(try frame(20_001).getSlice(at: 0, length: 20))
    #expect(throws: NIOWebSocketError.invalidFrameLength) { try channel.writeInbound(start) }
    // Nothing of it is passed on, nor what follows.
    try channel.writeInbound(try frame(1))
    #expect(try channel.readInbound(as: ByteBuffer.self) == nil)
    _ = try? channel.finish()
  }
}
