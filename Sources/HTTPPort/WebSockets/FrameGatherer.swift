public import NIOCore
public import NIOWebSocket

/// Gathers the frames that a server sends over a WebSocket (RFC 6455 5.2: unmasked and unfragmented) between two
/// flushes into one buffer and one write. NIO's encoder makes two writes per frame and a buffer for each header; it
/// stays in the pipeline for NIO's own frames, and the gatherer writes from its position.
///
/// Confined to its channel's loop. It is a class, since a write may call back into it before it returns, with an error or with
/// restored writability.
public final class FrameGatherer {
  private let encoder: ChannelHandlerContext
  private var gathered = ByteBuffer()
  /// The length of the last write in bytes, the initial size of the next buffer: growing costs a copy at each doubling.
  private var usual = 0
  /// Whether something was added since the last flush; part of it may have been written already.
  private var isUnflushed = false
  /// The maximum length of gathered bytes: beyond it copying costs more than another write, and the buffer is written
  /// to the channel, which accounts for it.
  static let gatheredMax = 65_536
  private static let usualMax = 8_192

  /// Creates a gatherer.
  ///
  /// - Parameter channel: A channel given to `HTTPSocket.open`; others make it throw.
  public init(_ channel: any Channel) throws {
    encoder = try channel.pipeline.syncOperations.context(handlerType: WebSocketFrameEncoder.self)
  }

  /// Adds a complete message or a control frame.
  ///
  /// - Parameter data: The payload, in a control frame at most 125 bytes (5.5).
  public func add(_ opcode: WebSocketOpcode, _ data: ByteBuffer) {
    add(opcode, count: data.readableBytes) { $0.writeImmutableBuffer(data) }
  }

  /// Adds a frame whose payload is written in place.
  ///
  /// - Parameter count: The number of bytes that `body` writes. With another number the client would misread all that
  ///   follows, so the connection is closed.
  public func add(_ opcode: WebSocketOpcode, count: Int, _ body: (inout ByteBuffer) -> Void) {
    isUnflushed = true
    if gathered.capacity == 0 {
      gathered = ByteBufferAllocator().buffer(capacity: max(count + 10, min(usual, Self.usualMax)))
    }
    guard Self.write(opcode, count, to: &gathered, body) else {
      assertionFailure("a frame is not as long as it says")
      gathered = ByteBuffer()
      return encoder.close(promise: nil)
    }
    if gathered.readableBytes >= Self.gatheredMax { write() }
  }

  /// Writes a frame. It has the buffer as a parameter, because each use of the property is checked for exclusive access.
  ///
  /// - Returns: whether `body` wrote `count` bytes.
  private static func write(
    _ opcode: WebSocketOpcode, _ count: Int, to buffer: inout ByteBuffer, _ body: (inout ByteBuffer) -> Void
  ) -> Bool {
    let first = UInt8(0x80) | UInt8(webSocketOpcode: opcode)
    switch count {
    case 0...125: buffer.writeMultipleIntegers(first, UInt8(count))
    case 126...0xffff: buffer.writeMultipleIntegers(first, UInt8(126), UInt16(count))
    default: buffer.writeMultipleIntegers(first, UInt8(127), UInt64(count))
    }
    let end = buffer.writerIndex + count
    body(&buffer)
    return buffer.writerIndex == end
  }

  /// Writes and flushes what was added.
  public func flush() {
    guard isUnflushed else { return }
    isUnflushed = false
    write()
    encoder.flush()
  }

  private func write() {
    guard gathered.readableBytes > 0 else { return }
    // The buffer is emptied first, since the write may call back.
    let buffer = gathered
    usual = buffer.readableBytes
    gathered = ByteBuffer()
    encoder.write(NIOAny(buffer), promise: nil)
  }
}
