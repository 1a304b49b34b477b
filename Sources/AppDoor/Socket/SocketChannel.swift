import Dialogs
import HTTPPort
import NIOCore
import NIOWebSocket

/// A session over a WebSocket (RFC 6455): a channel handler, which owns its session until it is removed.
final class SocketChannel: ChannelInboundHandler, SessionChannel {
  typealias InboundIn = WebSocketFrame

  let transport = OnlineSession.Transport.webSocket
  private let channel: any Channel
  private let frames: FrameGatherer
  private let onLogin: @Sendable (_ user: String) -> Bool
  private var session: AppSession?
  private var context: ChannelHandlerContext?
  private var isClosing = false
  private var pinger: RepeatedTask?
  private var lastRead = NIODeadline.now()
  /// Whether what comes belongs to a read of which a part has come already.
  private var isWithinRead = false

  var eventLoop: any EventLoop { channel.eventLoop }
  var isWritable: Bool { channel.isWritable }
  var unreadBytes: Int { (try? channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0 }

  /// - Parameter onLogin: Called with the user's address when the client has proved who it is. Returns whether the user may have the
  ///   connection.
  init(
    _ channel: any Channel, door: AppDoor, address: String,
    onLogin: @escaping @Sendable (_ user: String) -> Bool = { _ in true }
  ) throws {
    self.channel = channel
    self.onLogin = onLogin
    frames = try FrameGatherer(channel)
    session = AppSession(door: door, channel: self, address: address)
  }

  // MARK: The channel

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    session?.awaitHello()
    let me = NIOLoopBound(self, eventLoop: context.eventLoop)
    pinger = context.eventLoop.scheduleRepeatedTask(initialDelay: AppLimits.pingEvery, delay: AppLimits.pingEvery) {
      _ in
      me.value.keepAlive()
    }
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    end()
    session = nil
    self.context = nil
  }

  func channelInactive(context: ChannelHandlerContext) {
    end()
    context.fireChannelInactive()
  }

  private func end() {
    pinger?.cancel()
    session?.end()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    // The socket is not read while the user has sent too much. What begins to come all the same is what NIO has read at the end of the
    // connection, where it takes all that is left, megabytes perhaps. It is lost with the connection: a client that has closed its
    // end would else have no bound.
    if session?.isHeldBack == true, !isWithinRead, frame.opcode != .connectionClose { return }
    isWithinRead = true
    switch frame.opcode {
    case .text: frame.withUnmaskedBytes { session?.take($0) }
    case .ping:
      session?.takeControl(frame.data.readableBytes)
      if !isClosing { send(.pong, frame.unmaskedData) }
    case .connectionClose:
      // Answered with the same code (RFC 6455 5.5.1).
      if isClosing { return context.close(promise: nil) }
      var data = frame.unmaskedData
      let code = data.readSlice(length: min(2, data.readableBytes)) ?? ByteBuffer()
      send(.connectionClose, code)
      flush()
      session?.hasSaidGoodbye = true
      // The connection is not needed any more (7.4.1). A page that was left (1001) may be reloaded.
      session?.isForGood = code.getInteger(at: code.readerIndex, as: UInt16.self) == 1000
      end()
      context.close(promise: nil)
    case .pong: session?.takeControl(frame.data.readableBytes)
    default:
      session?.close(.badFrame, Problem(.malformed, "frame-malformed", "Frames are text messages."))
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    isWithinRead = false
    // A part of a long message is a sign of life, too: no pong comes before its end.
    lastRead = .now()
    flush()
    context.fireChannelReadComplete()
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    session?.writabilityChanged()
    context.fireChannelWritabilityChanged()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is ChannelShouldQuiesceEvent {
      session?.goAway()
    } else if case .inputClosed = event as? ChannelEvent {
      // The client's process has ended, or it has closed TLS: without a close frame the connection is lost (RFC 6455
      // 7.1.5, code 1006), although the port lets clients of HTTP close their half.
      end()
      context.close(promise: nil)
    }
    context.fireUserInboundEventTriggered(event)
  }

  /// Processes the aggregator's and the decoder's errors, and those of the connection: a reset, or an end of TLS without
  /// `close_notify`. NIO's own handler has answered the decoder's with a close frame before.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    switch error {
    case NIOWebSocketFrameAggregator.Error.accumulatedFrameSizeIsTooLarge,
      NIOWebSocketFrameAggregator.Error.tooManyFragments:
      session?.close(
        .tooBig, Problem(.tooLarge, "frame-too-large", "A message has at most \(AppLimits.frameBytesMax) bytes."))
    case LostMessage.late:
      session?.close(
        .tryAgainLater, Problem(.malformed, "frame-late", "A message is complete within five minutes."))
    case LostMessage.memory:
      session?.close(.tryAgainLater, .overloaded)
      cut()
    case is NIOWebSocketFrameAggregator.Error:
      session?.close(.badFrame, Problem(.malformed, "frame-malformed", "The frames do not follow RFC 6455."))
    default:
      end()
      context.close(promise: nil)
    }
  }

  private func keepAlive() {
    if NIODeadline.now() - lastRead > AppLimits.silenceMax {
      end()
      cut()
      return
    }
    send(.ping, ByteBuffer())
    flush()
  }

  // MARK: Sending

  private func send(_ opcode: WebSocketOpcode, _ data: ByteBuffer) {
    frames.add(opcode, data)
  }

  func write(count: Int, cursor: String?, _ body: (inout ByteBuffer) -> Void) {
    frames.add(.text, count: count, body)
  }

  func flush() { frames.flush() }

  func setReading(_ isReading: Bool) {
    // An error here means that the channel is closed, and then nothing is read.
    try? channel.syncOptions?.setOption(.autoRead, value: isReading)
    // The option reads beneath the pipeline, whose handlers count the time in which nothing is read (`UnfinishedFrames`).
    if isReading { channel.read() }
  }

  func close(_ code: CloseCode, reason: String, _ problem: Problem?) {
    isClosing = true
    pinger?.cancel()
    var data = channel.allocator.buffer(capacity: 2 + reason.utf8.count)
    data.writeInteger(code.rawValue)
    // A control frame has at most 125 bytes (RFC 6455 5.5). Reasons are ASCII.
    data.writeBytes(reason.utf8.prefix(123))
    send(.connectionClose, data)
    flush()
    // The client answers the close; otherwise it is cut off.
    let channel = channel
    channel.eventLoop.scheduleTask(in: .seconds(5)) { channel.pipeline.syncOperations.cut() }
  }

  func finish() { channel.close(promise: nil) }

  func cut() { channel.pipeline.syncOperations.cut() }

  func loggedIn(_ user: String) -> Bool { onLogin(user) }
}
