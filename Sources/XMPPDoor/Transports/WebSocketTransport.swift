import Dialogs
import HTTPPort
import NIOCore
import NIOWebSocket
import XMLStream
import XMPP

/// A stream over a WebSocket (RFC 7395): each top-level element is a text message.
///
/// TLS, if there is any, is the HTTP port's (3.9). Pings keep proxies from closing the connection; a pong is a sign of
/// life (3.8).
final class WebSocketTransport: ChannelDuplexHandler, StreamTransport {
  typealias InboundIn = WebSocketFrame
  typealias OutboundIn = WebSocketFrame

  let kind = OnlineSession.Transport.webSocket
  private let connection: XMPPConnection
  private let frames: FrameGatherer
  private var context: ChannelHandlerContext?
  private var pinged = NIODeadline.now()
  /// Whether a close frame was sent.
  private var isClosing = false
  /// The latest ping of a client that does not read: only that one is answered then (RFC 6455 5.5.3), since a client
  /// that only sends pings would fill the memory with answers.
  private var unanswered: ByteBuffer?

  init(_ connection: XMPPConnection, on channel: any Channel) throws {
    self.connection = connection
    frames = try FrameGatherer(channel)
  }

  // MARK: The channel's events

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    connection.opened(over: self)
  }

  func handlerRemoved(context: ChannelHandlerContext) { over() }

  func channelInactive(context: ChannelHandlerContext) {
    over()
    context.fireChannelInactive()
  }

  private func over() {
    context = nil
    connection.lost()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    switch error {
    case NIOWebSocketFrameAggregator.Error.accumulatedFrameSizeIsTooLarge,
      NIOWebSocketFrameAggregator.Error.tooManyFragments:
      connection.received(.violation(.limit("the message is too large")))
      connection.flush()
    case LostMessage.late: connection.fail(.lateStanza)
    case LostMessage.memory:
      connection.fail(.unfinishedStanzas)
      connection.drop()
    case is NIOWebSocketFrameAggregator.Error:
      connection.fail(StreamError(.badFormat, "the frames do not follow RFC 6455"))
    default:
      // NIO has told the client what breaks RFC 6455.
      connection.failed(error)
      context.close(promise: nil)
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is ChannelShouldQuiesceEvent {
      connection.fail(StreamError(.systemShutdown))
    } else if case .inputClosed = event as? ChannelEvent {
      context.close(promise: nil)
    }
    context.fireUserInboundEventTriggered(event)
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    connection.writabilityChanged(context.channel.isWritable)
    if context.channel.isWritable, let ping = unanswered.take() { pong(ping, context) }
    context.fireChannelWritabilityChanged()
  }

  private func pong(_ ping: ByteBuffer, _ context: ChannelHandlerContext) {
    guard context.channel.isWritable else { return unanswered = ping }
    send(.pong, ping)
    frames.flush()
  }

  func read(context: ChannelHandlerContext) {
    if isClosing || connection.mayRead() { context.read() }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    if isClosing, frame.opcode != .connectionClose { return }
    switch frame.opcode {
    case .text:
      connection.counted(frame.data.readableBytes)
      connection.received(Self.event(frame.unmaskedData, limits: connection.limits))
    case .pong: connection.receivedControl(frame.data.readableBytes)
    case .ping:
      connection.receivedControl(frame.data.readableBytes)
      pong(frame.unmaskedData, context)
    case .connectionClose:
      // RFC 6455 5.5.1. The stream was not closed before it, so it can be resumed (RFC 7395 3.6).
      if !isClosing {
        var data = frame.unmaskedData
        send(.connectionClose, data.readSlice(length: min(2, data.readableBytes)) ?? ByteBuffer())
        frames.flush()
      }
      context.close(promise: nil)
    default:
      // RFC 7395 3.2.
      connection.fail(StreamError(.badFormat, "a message that is no text"))
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    connection.flush()
    context.fireChannelReadComplete()
  }

  /// Returns the event of one message. It begins with `<` (RFC 7395 3.3.3); a header alone may have whitespace in
  /// front, as it may on TCP.
  static func event(_ message: ByteBuffer, limits: ReaderLimits) -> ReaderEvent {
    let bytes = message.readableBytesView.behindWhitespace(bytesMax: limits.headerBytes)
    let misplaced = ReaderEvent.violation(.notWellFormed("a message begins with '<'"))
    guard bytes.first == UInt8(ascii: "<") else { return misplaced }
    let element: Element
    do throws(XMLViolation) {
      element = try Element(parsing: bytes, defaultNamespace: "", limits: limits)
    } catch {
      return .violation(error)
    }
    // An `<open/>` of another namespace is an error, which the machine reports (3.3.2).
    if element.local == "open" { return .opened(StreamHeader(framed: element)) }
    guard bytes.count == message.readableBytes else { return misplaced }
    return element.is(Name("close", NS.framing)) ? .closed : .element(element)
  }

  // MARK: Requests of the connection

  var heldBytes: Int { context?.unsentBytes ?? 0 }

  func send(_ bytes: ByteBuffer, ends: [Int]) {
    guard let context, !isClosing else { return }
    var start = bytes.readerIndex
    for end in ends {
      var message = context.channel.allocator.buffer(capacity: end - start + 32)
      if let element = bytes.viewBytes(at: start, length: end - start) {
        StreamFraming.writeStandAlone(element, into: &message)
      }
      send(.text, message)
      start = end
    }
    frames.flush()
  }

  private func send(_ opcode: WebSocketOpcode, _ data: ByteBuffer) {
    frames.add(opcode, data)
  }

  func read() { context?.read() }

  /// Starts the WebSocket's own closing handshake behind the stream (RFC 7395 3.6).
  func close() {
    guard let context, !isClosing else { return }
    isClosing = true
    var code = ByteBuffer()
    code.write(webSocketErrorCode: .normalClosure)
    send(.connectionClose, code)
    frames.flush()
    context.read()
    let me = NIOLoopBound(self, eventLoop: context.eventLoop)
    // The stream is over, whatever the client does now.
    context.eventLoop.execute { me.value.connection.lost() }
    context.eventLoop.scheduleTask(in: DoorLimits.closing) { me.value.drop() }
  }

  func drop() { context?.pipeline.syncOperations.cut() }

  func tick(_ now: NIODeadline) {
    guard !isClosing, now >= pinged + DoorLimits.webSocketPing, context != nil else { return }
    pinged = now
    send(.ping, ByteBuffer())
    frames.flush()
  }
}
