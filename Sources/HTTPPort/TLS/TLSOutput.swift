import Basics
package import NIOCore
package import NIOSSL

extension ChannelPipeline.SynchronousOperations {
  /// Adds TLS between two handlers that bound the memory of its output.
  ///
  /// NIOSSL encrypts all bytes of a flush into one buffer, which has 16 KiB at first, grows, and never shrinks. While the socket has
  /// not taken that buffer, NIOSSL allocates another one of the same size for the next flush, however short that is. For a client that
  /// reads nothing the channel would keep such a buffer for each message, but count only the bytes in them. NIOSSL's setting of the
  /// kept size has no effect in version 2.37.
  package func addTLS(_ handler: NIOSSLHandler, position: ChannelPipeline.SynchronousOperations.Position) throws {
    try addHandlers([CiphertextHandler(), handler, PlaintextHandler()], position: position)
  }
}

/// Copies output that the socket cannot take yet into a buffer of its size, so that its memory is close to the bytes that the
/// channel counts. It is placed between the socket and TLS.
///
/// Output that the socket takes at once costs only the comparison of an address: TLS reuses its buffer only when nothing else refers
/// to it, so the same buffer as before means that the socket has taken everything.
///
///  Confined to its channel's event loop, like every handler.
final class CiphertextHandler: ChannelOutboundHandler {
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// The address of the last buffer that TLS has written.
  private var last: UInt = 0
  /// Whether earlier output waited for the socket at the last write.
  private var isWaiting = false

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let bytes = unwrapOutboundIn(data)
    let address = bytes.withVeryUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
    guard isWaiting || address != last else { return context.write(data, promise: promise) }
    last = address
    isWaiting = ((try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0) > 0
    guard isWaiting, MemoryBound.grown(bytes.readableBytes) < bytes.capacity else {
      return context.write(data, promise: promise)
    }
    var copy = context.channel.allocator.buffer(capacity: bytes.readableBytes)
    copy.writeImmutableBuffer(bytes)
    context.write(wrapOutboundOut(copy), promise: promise)
  }
}

/// Flushes long output to TLS in parts, so that the buffer of TLS, which never shrinks, stays at 16 KiB. It is placed between TLS
/// and the handlers that write.
///
///  Confined to its channel's event loop, like every handler.
final class PlaintextHandler: ChannelOutboundHandler {
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// The bytes that were written since the last flush, with those that TLS adds.
  private var unflushed = 0
  /// The bytes of the current write after the part that is being flushed. The flush may make the channel writable, so that a handler
  /// writes more before it returns; these later bytes are queued after them.
  private var rest: (bytes: ByteBuffer, promise: EventLoopPromise<Void>?)?

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    writeRest(context)
    rest = (unwrapOutboundIn(data), promise)
    while let count = rest?.bytes.readableBytes, unflushed + count > HTTPLimits.tlsPartBytes,
      let part = rest?.bytes.readSlice(length: max(0, HTTPLimits.tlsPartBytes - unflushed))
    {
      unflushed = 0
      context.writeAndFlush(wrapOutboundOut(part), promise: nil)
    }
    writeRest(context)
  }

  private func writeRest(_ context: ChannelHandlerContext) {
    guard let (bytes, promise) = rest.take() else { return }
    unflushed += bytes.readableBytes + HTTPLimits.tlsRecordBytes
    context.write(wrapOutboundOut(bytes), promise: promise)
  }

  func flush(context: ChannelHandlerContext) {
    unflushed = 0
    context.flush()
  }

  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    if rest != nil {
      writeRest(context)
      context.flush()
    }
    context.close(mode: mode, promise: promise)
  }
}
