import AppProtocol
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOSSL
import NIOWebSocket

/// One accepted connection: HTTP/1.1 until its first request decides whether it
/// stays that or becomes a WebSocket. A WebSocket is channel handlers on its
/// loop and has no task; HTTP goes through Hummingbird.
struct UpgradableChannel: ServerChildChannel, HTTPChannelHandler {
  enum Negotiated: Sendable {
    case http(NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>)
    case webSocket
  }

  struct Value: ServerChildChannelValue {
    let channel: any Channel
    let negotiated: EventLoopFuture<Negotiated>
  }

  let responder: HTTPChannelHandler.Responder
  let door: AppDoor
  /// Asked for each connection, so that a new certificate serves new ones.
  let tls: (@Sendable () -> NIOSSLContext)?

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
    channel.eventLoop.makeCompletedFuture {
      let pipeline = channel.pipeline.syncOperations
      if let tls { try pipeline.addHandler(NIOSSLServerHandler(context: tls())) }
      try channel.syncOptions?.setOption(ChannelOptions.tcpOption(.tcp_nodelay), value: 1)
      let encoder = HTTPResponseEncoder()
      var limits = NIOHTTPDecoderLimitConfiguration()
      limits.maxHeaderFieldSize = AppLimits.headerBytesMax
      limits.maxHeaderListSize = AppLimits.headerBytesMax
      limits.maxHeaderFieldCount = AppLimits.headersMax
      let decoder = ByteToMessageHandler(
        HTTPRequestDecoder(leftOverBytesStrategy: .forwardBytes, limitConfiguration: limits))
      let patience = FirstRequestHandler()
      let errors = HTTPServerProtocolErrorHandler()
      let upgrade = NIOTypedHTTPServerUpgradeHandler<Negotiated>(
        httpEncoder: encoder, extraHTTPHandlers: [decoder, patience, errors],
        upgradeConfiguration: .init(
          upgraders: [webSocketUpgrader()],
          notUpgradingCompletionHandler: { channel in
            channel.eventLoop.makeCompletedFuture { try Self.becomeHTTP(channel, patience: patience, logger: logger) }
          }))
      try pipeline.addHandlers([encoder, decoder, patience, errors, upgrade])
      return Value(channel: channel, negotiated: upgrade.upgradeResultFuture)
    }
  }

  private static func becomeHTTP(
    _ channel: any Channel, patience: FirstRequestHandler, logger: Logger
  ) throws -> Negotiated {
    let pipeline = channel.pipeline.syncOperations
    try pipeline.addHandler(HTTP1ToHTTPServerCodec(secure: false))
    try pipeline.addHandler(
      HTTPConnectionStateHandler(
        idleTimeout: .nanoseconds(AppLimits.httpIdle.nanoseconds), logger: logger))
    patience.isOver()
    return .http(
      try NIOAsyncChannel(
        wrappingChannelSynchronously: channel, configuration: .init(isOutboundHalfClosureEnabled: true)))
  }

  private func webSocketUpgrader() -> NIOTypedWebSocketServerUpgrader<Negotiated> {
    NIOTypedWebSocketServerUpgrader<Negotiated>(
      maxFrameSize: AppLimits.frameBytesMax,
      shouldUpgrade: { channel, _ in
        // `FirstRequestHandler` lets nothing else come so far.
        channel.eventLoop.makeSucceededFuture(["sec-websocket-protocol": webSocketSubprotocol])
      },
      upgradePipelineHandler: { [door] channel, head in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          try pipeline.addHandler(
            NIOWebSocketFrameAggregator(
              minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: AppLimits.fragmentsMax,
              maxAccumulatedFrameSize: AppLimits.frameBytesMax))
          try pipeline.addHandler(
            AppSession(
              door: door, channel: channel, address: ClientAddress.of(head.headers, channel.remoteAddress)))
          return .webSocket
        }
      })
  }

  func handle(value: Value, logger: Logger) async {
    do {
      switch try await value.negotiated.get() {
      case .http(let channel): await handleHTTP(asyncChannel: channel, logger: logger)
      // The session lives in its channel; nothing waits for it.
      case .webSocket: break
      }
    } catch {
      // The peer went away, or sent something that is no HTTP.
      value.channel.close(promise: nil)
    }
  }
}

/// Waits for the first request, not for ever, and decides whether it may
/// upgrade: NIO's upgrader would close the connection without an answer where
/// an upgrade is refused, so such a request goes on as plain HTTP.
///
/// Confined to its channel's event loop, like every handler.
final class FirstRequestHandler: ChannelInboundHandler, RemovableChannelHandler,
  @unchecked Sendable  // NIO calls it on its loop alone
{
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart

  private var timer: Scheduled<Void>?
  private var isFirst = true

  func handlerAdded(context: ChannelHandlerContext) {
    let channel = context.channel
    timer = context.eventLoop.scheduleTask(in: AppLimits.httpIdle) { channel.close(promise: nil) }
  }

  func handlerRemoved(context: ChannelHandlerContext) { isOver() }
  func channelInactive(context: ChannelHandlerContext) {
    isOver()
    context.fireChannelInactive()
  }

  /// Somebody else watches the connection from now on.
  func isOver() {
    timer?.cancel()
    timer = nil
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    // The server stops, and nothing has been asked yet.
    if event is ChannelShouldQuiesceEvent, isFirst { return context.close(promise: nil) }
    context.fireUserInboundEventTriggered(event)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
    isFirst = false
    if head.headers.contains(name: "upgrade"), !Self.mayUpgrade(head) {
      head.headers.remove(name: "upgrade")
      return context.fireChannelRead(wrapInboundOut(.head(head)))
    }
    context.fireChannelRead(data)
  }

  static func mayUpgrade(_ head: HTTPRequestHead) -> Bool {
    head.method == .GET && head.uri.prefix { $0 != "?" } == webSocketPath
      && head.headers[canonicalForm: "sec-websocket-protocol"].contains { $0 == webSocketSubprotocol }
      && head.headers["sec-websocket-version"].first == "13" && head.headers["sec-websocket-key"].count == 1
      && head.headers[canonicalForm: "upgrade"].contains { $0.lowercased() == "websocket" }
  }
}
