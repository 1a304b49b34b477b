import NIOCore
import NIOEmbedded
import Testing

@testable import HTTPPort

/// The memory of output behind TLS that a client does not read.
@Suite struct TLSOutputTests {
  private func capacity(_ buffers: [SecuredPair.Network.Buffer]) -> Int { buffers.reduce(0) { $0 + $1.capacity } }
  private func bytes(_ buffers: [SecuredPair.Network.Buffer]) -> Int { buffers.reduce(0) { $0 + $1.bytes } }

  @Test func unreadMessagesTakeLittleMoreThanTheirBytes() throws {
    let pair = try SecuredPair(EmbeddedEventLoop())
    defer { pair.cut() }
    var sent = ""
    for number in 0..<500 {
      let message = "\(number) \(String(repeating: "x", count: 200))"
      pair.send(message)
      sent += message
    }
    let unread = pair.network.buffers
    #expect(unread.count == 500)
    #expect(capacity(unread) < 2 * bytes(unread))
    pair.network.release()
    #expect(try pair.received() == sent)
    // Nothing is copied once the client has read everything.
    pair.network.buffers = []
    for text in ["a", "b", "c"] {
      pair.send(text)
      #expect(try pair.received() == text)
    }
    #expect(pair.network.buffers.map(\.capacity) == [16_384, 16_384, 16_384])
  }

  /// TLS encrypts into the same buffer again and again, and the socket is given that buffer.
  @Test func outputThatIsReadIsNotCopied() throws {
    let pair = try SecuredPair(EmbeddedEventLoop())
    defer { pair.cut() }
    pair.network.isStuck = false
    for number in 0..<100 {
      pair.send("message \(number)")
      #expect(try pair.received() == "message \(number)")
    }
    #expect(pair.network.buffers.count == 100)
    #expect(Set(pair.network.buffers.map(\.address)).count == 1)
  }

  /// Both as one write, and as many before one flush.
  @Test(arguments: [1, 64]) func longOutputLeavesNoLargeBuffer(writes: Int) throws {
    let pair = try SecuredPair(EmbeddedEventLoop())
    defer { pair.cut() }
    let text = String(repeating: "0123456789abcdef", count: 65_536 / writes)
    let promise = pair.server.eventLoop.makePromise(of: Void.self)
    for number in 1...writes {
      pair.server.write(ByteBuffer(string: text), promise: number == writes ? promise : nil)
    }
    pair.server.flush()
    let unread = pair.network.buffers
    #expect(unread.allSatisfy { $0.capacity <= 16_384 })
    #expect(capacity(unread) < 2 * bytes(unread))
    // As few parts as fit: each costs a system call.
    #expect(unread.count <= 71)
    pair.send("end")
    pair.network.release()
    #expect(try pair.received() == String(repeating: text, count: writes) + "end")
    try promise.futureResult.wait()
  }

  @Test func aCloseComesBehindUnreadOutput() throws {
    let pair = try SecuredPair(EmbeddedEventLoop())
    let text = String(repeating: "x", count: 200_000)
    pair.send(text)
    pair.server.close(promise: nil)
    pair.network.release()
    #expect(try pair.received() == text)
    #expect(!pair.client.isActive && !pair.server.isActive)
  }

  /// Writes more within the first flush, as a session does when the channel has become writable.
  private final class Refill: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    private var isFirst = true

    func flush(context: ChannelHandlerContext) {
      context.flush()
      guard isFirst else { return }
      isFirst = false
      context.channel.writeAndFlush(ByteBuffer(string: "second"), promise: nil)
    }
  }

  @Test func whatIsWrittenWithinAFlushComesBehindTheRest() throws {
    let channel = EmbeddedChannel(handlers: [Refill(), PlaintextHandler()])
    let first = String(repeating: "x", count: 200_000)
    channel.writeAndFlush(ByteBuffer(string: first), promise: nil)
    var all = ""
    while let bytes = try channel.readOutbound(as: ByteBuffer.self) { all += String(buffer: bytes) }
    #expect(all == first + "second")
    _ = try? channel.finish()
  }
}
