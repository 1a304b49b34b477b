import Basics
import Dialogs
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOSSL
import NIOTLS
import NIOWebSocket
import ServerMetrics

/// An accepted connection: HTTP/1.1, until its first request decides whether it becomes a WebSocket. A WebSocket
/// consists of channel handlers on its loop and has no task; HTTP is handled by Hummingbird.
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
  let sockets: [HTTPSocket]
  let origins: AllowedOrigins
  let proxies: TrustedProxies
  let open: OpenSockets
  let bounds: HTTPBounds
  let metrics: Metrics
  let refusals: RefusalLog
  /// Returns the TLS context, called for each connection, so that new ones get a new certificate.
  let tls: (@Sendable () -> NIOSSLContext)?
  let validation: (any TLSValidation)?

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
    let place = ConnectionPlace(bounds.connections, proxies, channel, loggedIn: bounds.loggedIn)
    guard place.enter(isFull: bounds.all.isFull) else {
      channel.close(promise: nil)
      return channel.eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel)
    }
    bounds.all.opened(channel)
    let negotiated = channel.eventLoop.makePromise(of: Negotiated.self)
    // A connection that waits has no handlers yet, as they cost as much as its first request.
    let begin = {
      do {
        try serve(channel, place, logger: logger).cascade(to: negotiated)
      } catch {
        negotiated.fail(error)
      }
    }
    let made: EventLoopFuture<Value> = channel.eventLoop.makeCompletedFuture {
      try channel.syncOptions?.setOption(ChannelOptions.tcpOption(.tcp_nodelay), value: 1)
      try channel.syncOptions?.setOption(.unsentBytes, value: UnsentBytes.most)
      // One read at a time, since NIO would keep a buffer for each of several.
      try channel.syncOptions?.setOption(.recvAllocator, value: ReadBuffers())
      try channel.syncOptions?.setOption(.maxMessagesPerRead, value: 1)
      if let pace = bounds.pace {
        try pace.pace(channel, onTurn: begin) { negotiated.fail(ChannelError.ioOnClosedChannel) }
      } else {
        begin()
      }
      return Value(channel: channel, negotiated: negotiated.futureResult)
    }
    return made.flatMapErrorThrowing { error in
      negotiated.fail(error)
      // The server channel does not close a connection that it does not get.
      channel.close(promise: nil)
      throw error
    }
  }

  /// Adds the handlers of HTTP, and returns the result of the negotiation.
  private func serve(
    _ channel: any Channel, _ place: ConnectionPlace, logger: Logger
  ) throws -> EventLoopFuture<Negotiated> {
    let pipeline = channel.pipeline.syncOperations
    if let tls, let validation, validation.isExpected {
      try pipeline.addHandler(ValidationHandler(validation, usual: tls))
    } else if let tls {
      try pipeline.addTLS(NIOSSLServerHandler(context: tls()), position: .last)
    }
    let encoder = HTTPResponseEncoder()
    var limits = NIOHTTPDecoderLimitConfiguration()
    limits.maxHeaderFieldSize = HTTPLimits.headerBytesMax
    limits.maxHeaderListSize = HTTPLimits.headerBytesMax
    limits.maxHeaderFieldCount = HTTPLimits.headersMax
    let decoder = ByteToMessageHandler(
      HTTPRequestDecoder(leftOverBytesStrategy: .forwardBytes, limitConfiguration: limits))
    let gate = RequestGate(
      channel, pace: bounds.requests, memory: bounds.memory?.withoutLogin, place: place)
    let host = HostHandler()
    let patience = FirstRequestHandler(
      sockets: sockets, origins: origins, proxies: proxies, isSecure: tls != nil, metrics: metrics)
    let malformed = MalformedRequestHandler()
    let goOn = ContinueHandler()
    let bodyPace = BodyPaceHandler(memory: bounds.memory, proxies: proxies)
    let responsePace = ResponsePaceHandler()
    let end = ClientEndHandler()
    let upgrader = SocketUpgrader(
      sockets: sockets, proxies: proxies, isSecure: tls != nil, memory: bounds.memory,
      onLogin: { place.logIn() })
    let handlers: [any RemovableChannelHandler] = [
      gate, decoder, RequestWatch(gate), host, patience, malformed, goOn, bodyPace, responsePace, place, end,
    ]
    let upgrade = NIOTypedHTTPServerUpgradeHandler<Negotiated>(
      httpEncoder: encoder, extraHTTPHandlers: handlers,
      upgradeConfiguration: .init(
        upgraders: [upgrader],
        notUpgradingCompletionHandler: { channel in
          channel.eventLoop.makeCompletedFuture {
            try Self.becomeHTTP(channel, patience: patience, malformed, logger: logger)
          }
        }))
    try pipeline.addHandler(encoder)
    for handler in handlers { try pipeline.addHandler(handler) }
    try pipeline.addHandler(upgrade)
    let remote = channel.remoteAddress
    channel.closeFuture.whenComplete { [refusals, proxies] _ in
      let code: String? =
        if malformed.isMalformed {
          "request-malformed"
        } else if bodyPace.isTooSlow {
          "body-slow"
        } else {
          responsePace.isTooSlow ? "response-slow" : nil
        }
      guard let code else { return }
      refusals.note(
        "a connection", code, isFault: false, ["peer": ClientAddress.of(ForwardedFields(), remote, proxies)])
    }
    return upgrade.upgradeResultFuture
  }

  private static func becomeHTTP(
    _ channel: any Channel, patience: FirstRequestHandler, _ malformed: MalformedRequestHandler, logger: Logger
  ) throws -> Negotiated {
    let pipeline = channel.pipeline.syncOperations
    try pipeline.addHandler(HTTP1ToHTTPServerCodec(secure: false))
    try pipeline.addHandler(
      HTTPConnectionStateHandler(
        idleTimeout: .nanoseconds(HTTPLimits.idle.nanoseconds), logger: logger))
    patience.isOver()
    malformed.serve()
    return .http(
      try NIOAsyncChannel(
        wrappingChannelSynchronously: channel, configuration: .init(isOutboundHalfClosureEnabled: true)))
  }

  func handle(value: Value, logger: Logger) async {
    do {
      switch try await value.negotiated.get() {
      case .http(let channel): await handleHTTP(asyncChannel: channel, logger: logger)
      // The session lives in its channel without a task.
      case .webSocket: open.add(value.channel)
      }
    } catch {
      // The client disconnected or did not speak HTTP.
      value.channel.close(promise: nil)
    }
  }
}

/// Upgrades a connection to the WebSocket of its path, with that WebSocket's bounds.
struct SocketUpgrader: NIOTypedHTTPServerProtocolUpgrader {
  let sockets: [HTTPSocket]
  let proxies: TrustedProxies
  let isSecure: Bool
  /// The memory of incomplete messages; nil without a bound.
  let memory: HTTPMemory?
  /// Returns whether the connection may be one of a logged-in user.
  let onLogin: @Sendable () -> Bool

  let supportedProtocol = "websocket"
  let requiredUpgradeHeaders: [String] = []

  func buildUpgradeResponse(
    channel: any Channel, upgradeRequest head: HTTPRequestHead, initialResponseHeaders: HTTPHeaders
  ) -> EventLoopFuture<HTTPHeaders> {
    guard let upgrader = upgrader(head) else { return channel.eventLoop.makeFailedFuture(Unknown()) }
    return upgrader.buildUpgradeResponse(
      channel: channel, upgradeRequest: head, initialResponseHeaders: initialResponseHeaders)
  }

  func upgrade(
    channel: any Channel, upgradeRequest head: HTTPRequestHead
  ) -> EventLoopFuture<UpgradableChannel.Negotiated> {
    guard let upgrader = upgrader(head) else { return channel.eventLoop.makeFailedFuture(Unknown()) }
    return upgrader.upgrade(channel: channel, upgradeRequest: head)
  }

  /// Thrown for a path without a WebSocket, which `FirstRequestHandler` excludes.
  private struct Unknown: Error {}

  private func upgrader(_ head: HTTPRequestHead) -> NIOTypedWebSocketServerUpgrader<UpgradableChannel.Negotiated>? {
    guard let socket = sockets.first(where: { $0.path == head.path }) else { return nil }
    return NIOTypedWebSocketServerUpgrader(
      maxFrameSize: socket.messageBytesMax,
      shouldUpgrade: { channel, _ in
        channel.eventLoop.makeSucceededFuture(["sec-websocket-protocol": socket.subprotocol])
      },
      upgradePipelineHandler: { [isSecure, proxies, memory, onLogin] channel, head in
        channel.eventLoop.makeCompletedFuture {
          try channel.syncOptions?.setOption(.recvAllocator, value: ReadBuffers(most: HTTPLimits.socketReadBytes))
          let peer = HTTPPeer(head, channel.remoteAddress, isSecure: isSecure, proxies)
          let unfinished = UnfinishedFrames(
            bytesMax: socket.bytesMaxBeforeLogin, memory: memory, peer: peer.address)
          let bound = NIOLoopBound(unfinished, eventLoop: channel.eventLoop)
          let decoder = try channel.pipeline.syncOperations.handler(
            type: ByteToMessageHandler<WebSocketFrameDecoder>.self)
          try channel.pipeline.syncOperations.addHandler(unfinished, position: .before(decoder))
          try channel.pipeline.syncOperations.addHandler(FrameRules())
          try channel.pipeline.syncOperations.addHandler(
            NIOWebSocketFrameAggregator(
              minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: socket.fragmentsMax,
              maxAccumulatedFrameSize: socket.messageBytesMax))
          try socket.open(channel, peer) { user in
            guard onLogin() else { return false }
            bound.value.logIn(user)
            return true
          }
          return .webSocket
        }
      })
  }
}

/// Waits for the first request, with a timeout, and decides whether it may upgrade. NIO's upgrader would close the
/// connection without a response if an upgrade were refused, so such a request is handled as plain HTTP. Its response ends the
/// connection, since NIO's decoder has stopped after the request.
///
///  Confined to its channel's event loop, like every handler.
final class FirstRequestHandler: ChannelInboundHandler, RemovableChannelHandler,
  @unchecked Sendable  // NIO calls it on its loop alone
{
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart

  private let sockets: [HTTPSocket]
  private let origins: AllowedOrigins
  private let proxies: TrustedProxies
  private let isSecure: Bool
  private var timer: Scheduled<Void>?
  private var isFirst = true
  private let metrics: Metrics

  init(
    sockets: [HTTPSocket], origins: AllowedOrigins, proxies: TrustedProxies, isSecure: Bool, metrics: Metrics
  ) {
    self.metrics = metrics
    self.proxies = proxies
    self.origins = origins
    self.sockets = sockets
    self.isSecure = isSecure
  }

  func handlerAdded(context: ChannelHandlerContext) {
    let channel = context.channel
    timer = context.eventLoop.scheduleTask(in: HTTPLimits.idle) { channel.close(promise: nil) }
  }

  func handlerRemoved(context: ChannelHandlerContext) { isOver() }
  func channelInactive(context: ChannelHandlerContext) {
    isOver()
    context.fireChannelInactive()
  }

  /// Stops the timer; another handler supervises the connection from now on.
  func isOver() {
    timer?.cancel()
    timer = nil
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .handshakeCompleted = event as? TLSUserEvent {
      metrics.tlsHandshakes.add(Both(.https, SecureVersion(context.pipeline.syncOperations)))
    }
    // The server stops, and the connection has had no request.
    if event is ChannelShouldQuiesceEvent, isFirst { return context.close(promise: nil) }
    context.fireUserInboundEventTriggered(event)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
    let isUpgrade = isFirst && head.endsDecoding && mayUpgrade(head, context.channel.remoteAddress)
    isFirst = false
    guard head.endsDecoding, !isUpgrade else { return context.fireChannelRead(data) }
    head.headers.remove(name: "upgrade")
    head.headers.replaceOrAdd(name: "connection", value: "close")
    context.fireChannelRead(wrapInboundOut(.head(head)))
  }

  func mayUpgrade(_ head: HTTPRequestHead, _ remote: SocketAddress?) -> Bool {
    guard let socket = sockets.first(where: { $0.path == head.path }) else { return false }
    return head.method == .GET && !HostHandler.isWrong(head) && origins.allows(head)
      && head.headers[canonicalForm: "sec-websocket-protocol"].contains { $0 == socket.subprotocol }
      && head.headers["sec-websocket-version"].first == "13" && head.headers["sec-websocket-key"].count == 1
      && head.headers[canonicalForm: "upgrade"].contains { $0.lowercased() == "websocket" }
      && socket.refusal(HTTPPeer(head, remote, isSecure: isSecure, proxies)) == nil
  }
}

extension HTTPRequestHead {
  /// The path without the query.
  fileprivate var path: String { String(uri.prefix { $0 != "?" }) }
}
