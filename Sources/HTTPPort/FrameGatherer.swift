public import NIOCore
public import NIOWebSocket

/// What a server says over a WebSocket (RFC 6455 5.2: not masked, not in pieces), gathered: all frames between two flushes are
/// one buffer and one write. NIO's encoder makes two writes a frame, and a buffer for each header; it stays in the pipeline for
/// what NIO itself says, and the gatherer writes from its place.
///
/// Confined to its channel's loop. A class, since a write may come back here before it returns: with an error, or as room that
/// is there again.
public final class FrameGatherer {
  private let encoder: ChannelHandlerContext
  private var gathered = ByteBuffer()
  /// Bytes of the last write: the next one will be about as long. Growing on the way costs a copy at each doubling.
  private var usual = 0
  /// Something was added since the last flush; some of it may be with the channel already.
  private var isUnflushed = false
  /// Bytes that are worth a buffer of their own: beyond them copying costs more than another write, and what is gathered is
  /// handed to the channel, which counts it.
  static let gatheredMax = 65_536
  private static let usualMax = 8_192

  /// - Parameter channel: one that `HTTPSocket.open` was given; throws for others.
  public init(_ channel: any Channel) throws {
    encoder = try channel.pipeline.syncOperations.context(handlerType: WebSocketFrameEncoder.self)
  }

  /// A whole message, or a control frame.
  ///
  /// - Parameter data: of a control frame at most 125 bytes (5.5).
  public func add(_ opcode: WebSocketOpcode, _ data: ByteBuffer) {
    add(opcode, count: data.readableBytes) { $0.writeImmutableBuffer(data) }
  }

  /// The same, written where it goes out from.
  ///
  /// - Parameter count: the bytes that `body` will write. Where it writes others the client would misread all that follows: the
  ///   connection ends, and nobody else's.
  public func add(_ opcode: WebSocketOpcode, count: Int, _ body: (inout ByteBuffer) -> Void) {
    isUnflushed = true
    if gathered.capacity == 0 {
      gathered = ByteBufferAllocator().buffer(capacity: max(count + 10, min(usual, Self.usualMax)))
    }
    gathered.writeInteger(UInt8(0x80) | UInt8(webSocketOpcode: opcode))
    switch count {
    case 0...125: gathered.writeInteger(UInt8(count))
    case 126...0xffff: gathered.writeMultipleIntegers(UInt8(126), UInt16(count))
    default: gathered.writeMultipleIntegers(UInt8(127), UInt64(count))
    }
    let end = gathered.writerIndex + count
    body(&gathered)
    guard gathered.writerIndex == end else {
      assertionFailure("a frame is not as long as it says")
      gathered = ByteBuffer()
      return encoder.close(promise: nil)
    }
    if gathered.readableBytes >= Self.gatheredMax { write() }
  }

  /// Nothing where nothing was added.
  public func flush() {
    guard isUnflushed else { return }
    isUnflushed = false
    write()
    encoder.flush()
  }

  private func write() {
    guard gathered.readableBytes > 0 else { return }
    // Emptied first: see above.
    let buffer = gathered
    usual = buffer.readableBytes
    gathered = ByteBuffer()
    encoder.write(NIOAny(buffer), promise: nil)
  }
}
