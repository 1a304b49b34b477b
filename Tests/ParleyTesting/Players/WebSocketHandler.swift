import JSON
import NIOCore
import NIOWebSocket
import Synchronization

/// The client's end of a WebSocket (RFC 6455): whole text messages to JSON.
final class WebSocketHandler: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame
  typealias OutboundOut = WebSocketFrame

  private let inbox: Inbox
  private let cursor: LastCursor
  private var hasEnded = false

  init(inbox: Inbox, cursor: LastCursor) {
    self.inbox = inbox
    self.cursor = cursor
  }

  static func frame(_ opcode: WebSocketOpcode, _ data: ByteBuffer) -> WebSocketFrame {
    WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: data)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var frame = unwrapInboundIn(data)
    switch frame.opcode {
    case .text:
      do {
        let value = try JSONValue(parsing: Array(frame.unmaskedData.readableBytesView))
        cursor.saw(value)
        inbox.add(.json(value))
      } catch {
        inbox.note(sent: "(not JSON: \(error))")
        context.close(promise: nil)
      }
    case .ping:
      context.writeAndFlush(wrapOutboundOut(Self.frame(.pong, frame.unmaskedData)), promise: nil)
    case .connectionClose:
      let code = frame.data.readWebSocketErrorCode()
      if !hasEnded {
        hasEnded = true
        inbox.add(.end(code: code.map { Int(UInt16(webSocketErrorCode: $0)) }))
        var reply = ByteBuffer()
        if let code { reply.write(webSocketErrorCode: code) }
        context.writeAndFlush(wrapOutboundOut(Self.frame(.connectionClose, reply)), promise: nil)
      }
    default: break
    }
  }

  func channelInactive(context: ChannelHandlerContext) { inbox.add(.disconnected) }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    inbox.note(sent: "(\(error))")
    context.close(promise: nil)
  }
}

/// The cursor that an app client keeps: that of the last durable event, or of the last answer with a cursor.
final class LastCursor: Sendable {
  private let cursor = Mutex<String?>(nil)
  var value: String? { cursor.withLock { $0 } }

  func saw(_ frame: JSONValue) {
    let found =
      frame["cursor"]?.string
      ?? (Self.tellers.contains(frame["type"]?.string ?? "") ? frame["data"]?["cursor"]?.string : nil)
    if let found { cursor.withLock { $0 = found } }
  }

  /// `ready` is not among them: what was missed follows it.
  private static let tellers: Set = ["caught_up", "resync"]
}
