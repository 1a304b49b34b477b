import NIOCore
import NIOWebSocket

/// What RFC 6455 has a server refuse and NIO lets pass: frames of a client that are not masked (5.1), and bits that no
/// extension has given a meaning (5.2). The client is told close code 1002.
final class FrameRules: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame
  typealias InboundOut = WebSocketFrame
  typealias OutboundOut = WebSocketFrame

  private var isBroken = false

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if isBroken { return }
    let frame = unwrapInboundIn(data)
    if frame.maskKey != nil, !frame.rsv1, !frame.rsv2, !frame.rsv3 { return context.fireChannelRead(data) }
    isBroken = true
    var code = ByteBuffer()
    code.write(webSocketErrorCode: .protocolError)
    context.writeAndFlush(
      wrapOutboundOut(WebSocketFrame(fin: true, opcode: .connectionClose, data: code)), promise: nil)
    context.close(promise: nil)
  }
}
