import HTTPPort
import NIOCore
import NIOEmbedded
import NIOWebSocket
import Testing

/// Frames as the port takes and makes them, held against NIO's own coder.
@Suite struct FrameTests {
  @Test(arguments: [0, 1, 3, 7, 8, 9, 125, 126, 1_000, 65_535, 65_536, 70_001])
  func aMaskedPayloadIsReadAsItWasSent(_ count: Int) {
    let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 7) }
    var masked = ByteBuffer(bytes: payload)
    let key: WebSocketMaskingKey = [0x12, 0x00, 0xff, 0x9a]
    masked.webSocketMask(key)
    let frame = WebSocketFrame(fin: true, opcode: .text, maskKey: key, data: masked)
    #expect(frame.withUnmaskedBytes { Array($0) } == payload)
    // Unmasked ones, of a server, as they are.
    let plain = WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(bytes: payload))
    #expect(plain.withUnmaskedBytes { Array($0) } == payload)
  }

  @Test func gatheredFramesAreOneWrite() throws {
    let channel = EmbeddedChannel()
    try channel.pipeline.syncOperations.addHandler(WebSocketFrameEncoder())
    let frames = try FrameGatherer(channel)
    let texts = [0, 1, 125, 126, 1_000, 40_000].map { String(repeating: "x", count: $0) }
    for text in texts { frames.add(.text, ByteBuffer(string: text)) }
    frames.add(.ping, ByteBuffer(string: "p"))
    #expect(try channel.readOutbound(as: ByteBuffer.self) == nil)
    frames.flush()
    let written = try #require(try channel.readOutbound(as: ByteBuffer.self))
    #expect(try channel.readOutbound(as: ByteBuffer.self) == nil)

    let reader = EmbeddedChannel(handler: ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: 1 << 20)))
    try reader.writeInbound(written)
    for text in texts {
      let frame = try #require(try reader.readInbound(as: WebSocketFrame.self))
      #expect(frame.fin && frame.opcode == .text && frame.maskKey == nil)
      #expect(String(buffer: frame.data) == text)
    }
    #expect(try reader.readInbound(as: WebSocketFrame.self)?.opcode == .ping)
    _ = try? channel.finish()
    _ = try? reader.finish()
  }

  /// Output beyond the size of a buffer is passed on before the flush, so that the channel can count it.
  @Test func aLargeMessageDoesNotGather() throws {
    let channel = EmbeddedChannel()
    try channel.pipeline.syncOperations.addHandler(WebSocketFrameEncoder())
    let frames = try FrameGatherer(channel)
    frames.add(.text, ByteBuffer(repeating: 0x78, count: 70_000))
    frames.add(.text, ByteBuffer(string: "y"))
    channel.flush()
    #expect(try channel.readOutbound(as: ByteBuffer.self)?.readableBytes == 70_010)
    frames.flush()
    #expect(try channel.readOutbound(as: ByteBuffer.self)?.readableBytes == 3)
    _ = try? channel.finish()
  }

  @Test func aChannelThatIsNoWebSocketIsRefused() {
    #expect(throws: (any Error).self) { try FrameGatherer(EmbeddedChannel()) }
  }
}
