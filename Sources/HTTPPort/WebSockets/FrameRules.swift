import NIOCore
import NIOWebSocket

/// Rejects frames that NIO accepts against RFC 6455, with close code 1002: unmasked frames of a client (5.1), and
/// reserved bits without an extension (5.2). So no message is compressed (RFC 7692).
final class FrameRules: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame
  typealias InboundOut = WebSocketFrame
  typealias OutboundOut = WebSocketFrame

  private var isBroken = false

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if isBroken { return }
    var frame = unwrapInboundIn(data)
    if frame.maskKey != nil, !frame.rsv1, !frame.rsv2, !frame.rsv3 {
      if frame.fin { return context.fireChannelRead(data) }
      // The aggregator keeps a fragment until its message is complete; so it is copied out of the larger buffer of the read.
      frame.data = frame.data.compact
      return context.fireChannelRead(wrapInboundOut(frame))
    }
    isBroken = true
    var code = ByteBuffer()
    code.write(webSocketErrorCode: .protocolError)
    context.writeAndFlush(
      wrapOutboundOut(WebSocketFrame(fin: true, opcode: .connectionClose, data: code)), promise: nil)
    context.close(promise: nil)
  }
}
