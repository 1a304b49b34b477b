#if !canImport(Darwin)
  public import Foundation
  import NIOCore
  import NIOHTTP1
  import NIOPosix
  import NIOSSL
  import NIOWebSocket

  /// HTTP/1.1 and WebSockets over SwiftNIO. Idle connections are used again for a few seconds.
  public actor NIOTransport: Transport {
    private let tls: NIOSSLContext
    private nonisolated let group = MultiThreadedEventLoopGroup.singleton
    private var idle: [(origin: Origin, channel: any Channel, since: ContinuousClock.Instant)] = []

    /// Creates a transport that trusts the system's authorities, or those in a PEM file instead.
    public init(trustRoots: String? = nil) throws {
      var configuration = TLSConfiguration.makeClientConfiguration()
      configuration.applicationProtocols = ["http/1.1"]
      if let trustRoots { configuration.trustRoots = .file(trustRoots) }
      tls = try NIOSSLContext(configuration: configuration)
    }

    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
      let origin = try Origin(request.url)
      do { return try await exchange(request, with: origin) } catch { throw TransportError(error, of: origin) }
    }

    private func exchange(_ request: HTTPRequest, with origin: Origin) async throws -> HTTPResponse {
      let channel = try await connection(to: origin)
      do {
        let exchange = Exchange(
          head: origin.head(request), body: request.body.map { ByteBuffer(bytes: $0) },
          answer: channel.eventLoop.makePromise(of: Exchange.Answer.self))
        let answer = try await withTaskCancellationHandler {
          // Nobody answers what does not reach the handler.
          channel.writeAndFlush(exchange).whenFailure { exchange.answer.fail($0) }
          return try await exchange.answer.futureResult.get()
        } onCancel: {
          channel.close(promise: nil)
        }
        if answer.keepAlive, channel.isActive { keep(channel, for: origin) } else { channel.close(promise: nil) }
        return answer.response
      } catch {
        channel.close(promise: nil)
        throw error
      }
    }

    private func connection(to origin: Origin) async throws -> any Channel {
      dropOld()
      if let index = idle.lastIndex(where: { $0.origin == origin }) {
        let (_, channel, _) = idle.remove(at: index)
        if channel.isActive { return channel }
      }
      let tls = origin.isSecure ? self.tls : nil
      return try await bootstrap().connect(host: origin.host, port: origin.port) { channel in
        channel.eventLoop.makeCompletedFuture {
          if let tls { try origin.secure(channel, tls) }
          try channel.pipeline.syncOperations.addHTTPClientHandlers()
          try channel.pipeline.syncOperations.addHandler(ExchangeHandler())
          return channel
        }
      }
    }

    private func keep(_ channel: any Channel, for origin: Origin) {
      dropOld()
      idle.append((origin, channel, .now))
      if idle.count > Limits.idleConnections { idle.removeFirst().channel.close(promise: nil) }
    }

    private func dropOld() {
      while let first = idle.first, first.since.duration(to: .now) > Limits.idleTime {
        idle.removeFirst().channel.close(promise: nil)
      }
    }

    private nonisolated func bootstrap() -> sending ClientBootstrap {
      ClientBootstrap(group: group).connectTimeout(TimeAmount(Limits.connectTime))
        .channelOption(.socketOption(.tcp_nodelay), value: 1)
    }

    public func open(_ url: URL, subprotocol: String) async throws -> any WebSocket {
      let origin = try Origin(url)
      do { return try await upgrade(origin, to: subprotocol) } catch { throw TransportError(error, of: origin) }
    }

    private func upgrade(_ origin: Origin, to subprotocol: String) async throws -> NIOWebSocketConnection {
      let tls = origin.isSecure ? self.tls : nil
      let (connection, upgrade) = try await bootstrap().connect(host: origin.host, port: origin.port) { channel in
        channel.eventLoop.makeCompletedFuture {
          if let tls { try origin.secure(channel, tls) }
          let upgrader = NIOTypedWebSocketClientUpgrader<NIOAsyncChannel<WebSocketFrame, WebSocketFrame>?>(
            maxFrameSize: Limits.frameBytes
          ) { channel, _ in
            channel.eventLoop.makeCompletedFuture {
              try channel.pipeline.syncOperations.addHandlers(
                NIOWebSocketFrameAggregator(
                  minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 1024, maxAccumulatedFrameSize: Limits.frameBytes
                ))
              return try NIOAsyncChannel(
                wrappingChannelSynchronously: channel,
                configuration: .init(
                  backPressureStrategy: .init(
                    lowWatermark: Limits.framesWaiting / 2, highWatermark: Limits.framesWaiting)))
            }
          }
          var request = HTTPRequestHead(version: .http1_1, method: .GET, uri: origin.target)
          request.headers.add(name: "Host", value: origin.authority)
          request.headers.add(name: "Content-Length", value: "0")
          request.headers.add(name: "Sec-WebSocket-Protocol", value: subprotocol)
          let configuration = NIOTypedHTTPClientUpgradeConfiguration(
            upgradeRequestHead: request, upgraders: [upgrader]
          ) { channel in
            channel.close(promise: nil)
            return channel.eventLoop.makeSucceededFuture(nil)
          }
          let upgraded = try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(
            configuration: .init(upgradeConfiguration: configuration))
          return (channel, upgraded)
        }
      }
      let upgraded = try await withTaskCancellationHandler {
        try await upgrade.get()
      } onCancel: {
        connection.close(promise: nil)
      }
      guard let channel = upgraded else { throw TransportError("The server opened no WebSocket.") }
      return try await NIOWebSocketConnection(channel)
    }
  }

  /// A failure of the network, in words for people.
  struct TransportError: LocalizedError, CustomStringConvertible {
    let description: String
    var errorDescription: String? { description }
    init(_ description: String) { self.description = description }

    /// Says why there is no connection to a server, or none any more.
    fileprivate init(_ error: any Error, of origin: Origin) {
      let server = "\(origin.host):\(origin.port)"
      switch error {
      case let error as TransportError: self = error
      case let error as NIOConnectionError:
        guard let last = error.connectionErrors.last?.error else {
          self.init("The name \(origin.host) has no address.")
          return
        }
        self.init(last, of: origin)
      case let error as IOError: self.init("\(server): \(String(cString: strerror(error.errnoCode))).")
      case ChannelError.connectTimeout: self.init("\(server) does not answer.")
      case ChannelError.ioOnClosedChannel, ChannelError.inputClosed, ChannelError.eof, ChannelError.outputClosed,
        ChannelError.alreadyClosed:
        self.init("The connection to \(server) ended.")
      case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
        self.init("There is no trusted connection to \(server): \(error)")
      default: self.init("\(server): \(error)")
      }
    }
  }

  /// Where a URL leads.
  private struct Origin: Equatable {
    var host: String
    var port: Int
    var isSecure: Bool
    var target = ""
    var authority: String { port == (isSecure ? 443 : 80) ? host : "\(host):\(port)" }

    static func == (one: Self, other: Self) -> Bool {
      (one.host, one.port, one.isSecure) == (other.host, other.port, other.isSecure)
    }

    init(_ url: URL) throws {
      guard let parts = URLComponents(url: url, resolvingAgainstBaseURL: true), let scheme = parts.scheme,
        ["http", "https", "ws", "wss"].contains(scheme), let host = parts.host, !host.isEmpty
      else { throw TransportError("\(url) is no address of a server.") }
      isSecure = scheme == "https" || scheme == "wss"
      self.host = host.trimmingCharacters(in: ["[", "]"])
      port = parts.port ?? (isSecure ? 443 : 80)
      target =
        (parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath)
        + (parts.percentEncodedQuery.map { "?" + $0 } ?? "")
    }

    func head(_ request: HTTPRequest) -> HTTPRequestHead {
      var head = HTTPRequestHead(version: .http1_1, method: HTTPMethod(rawValue: request.method), uri: target)
      head.headers.add(name: "Host", value: authority)
      for (name, value) in request.headers { head.headers.add(name: name, value: value) }
      if let body = request.body {
        head.headers.add(name: "Content-Length", value: String(body.count))
      } else if ["POST", "PUT", "PATCH"].contains(request.method) {
        head.headers.add(name: "Content-Length", value: "0")
      }
      return head
    }

    /// An address is no name that a certificate is asked for.
    func secure(_ channel: any Channel, _ tls: NIOSSLContext) throws {
      let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
      try channel.pipeline.syncOperations.addHandler(
        NIOSSLClientHandler(context: tls, serverHostname: isAddress ? nil : host))
    }
  }

  /// One request, and what answers it.
  private struct Exchange: Sendable {
    struct Answer: Sendable {
      var response: HTTPResponse
      var keepAlive: Bool
    }

    var head: HTTPRequestHead
    var body: ByteBuffer?
    var answer: EventLoopPromise<Answer>
  }

  /// Writes requests, one at a time, and collects their answers.
  private final class ExchangeHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundIn = Exchange
    typealias OutboundOut = HTTPClientRequestPart

    private var promise: EventLoopPromise<Exchange.Answer>?
    private var head: HTTPResponseHead?
    private var body = Data()

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      let exchange = unwrapOutboundIn(data)
      guard context.channel.isActive else { return exchange.answer.fail(ChannelError.alreadyClosed) }
      self.promise = exchange.answer
      context.write(wrapOutboundOut(.head(exchange.head)), promise: nil)
      if let body = exchange.body { context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
      context.write(wrapOutboundOut(.end(nil)), promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch unwrapInboundIn(data) {
      case .head(let head):
        self.head = head
        body = Data()
      case .body(let bytes):
        body.append(contentsOf: bytes.readableBytesView)
        if body.count > Limits.answerBytes {
          end(context, TransportError("The answer is longer than \(Limits.answerBytes) bytes."))
        }
      case .end:
        guard let head, let promise else { return }
        var headers: [String: String] = [:]
        for (name, value) in head.headers { headers[name.lowercased()] = value }
        let response = HTTPResponse(status: Int(head.status.code), headers: headers, body: body)
        self.promise = nil
        body = Data()
        promise.succeed(.init(response: response, keepAlive: head.isKeepAlive))
      }
    }

    func channelInactive(context: ChannelHandlerContext) {
      end(context, ChannelError.eof)
      context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { end(context, error) }

    private func end(_ context: ChannelHandlerContext, _ error: any Error) {
      promise?.fail(error)
      promise = nil
      context.close(promise: nil)
    }
  }

  /// A WebSocket over a channel of frames. Pings are answered; fragments have been joined before.
  private actor NIOWebSocketConnection: WebSocket {
    private let channel: any Channel
    private let writer: AsyncStream<WebSocketFrame>.Continuation
    private let frames: FrameReader

    init(_ asyncChannel: NIOAsyncChannel<WebSocketFrame, WebSocketFrame>) async throws {
      channel = asyncChannel.channel
      let (outbound, writer) = AsyncStream<WebSocketFrame>.makeStream()
      self.writer = writer
      let reader = FrameReader()
      frames = reader
      let channel = asyncChannel.channel
      Task {
        do {
          try await asyncChannel.executeThenClose { inbound, out in
            try await withThrowingTaskGroup(of: Void.self) { group in
              group.addTask {
                for await frame in outbound {
                  try await out.write(frame)
                  if frame.opcode == .connectionClose { return }
                }
              }
              group.addTask {
                for try await frame in inbound {
                  switch frame.opcode {
                  case .text: try await reader.put(String(buffer: frame.unmaskedData))
                  case .ping:
                    writer.yield(WebSocketFrame(fin: true, opcode: .pong, maskKey: .random(), data: frame.unmaskedData))
                  case .connectionClose:
                    var data = frame.unmaskedData
                    let code = data.readInteger(as: UInt16.self) ?? 1005
                    throw WebSocketClosed(code: code, reason: String(buffer: data))
                  default: break
                  }
                }
                throw ChannelError.eof
              }
              // The end of either is the end of both: the writer's comes after the close frame.
              defer { group.cancelAll() }
              try await group.next()
            }
          }
          await reader.end(ChannelError.eof)
        } catch {
          await reader.end(error)
        }
        channel.close(promise: nil)
      }
    }

    func send(_ text: String) async throws {
      guard channel.isActive else { throw ChannelError.alreadyClosed }
      writer.yield(WebSocketFrame(fin: true, opcode: .text, maskKey: .random(), data: ByteBuffer(string: text)))
    }

    func receive() async throws -> String { try await frames.next() }

    func close(code: UInt16) async {
      var data = ByteBuffer()
      data.writeInteger(code)
      writer.yield(WebSocketFrame(fin: true, opcode: .connectionClose, maskKey: .random(), data: data))
      writer.finish()
      await frames.end(ChannelError.alreadyClosed)
      // On a connection that is lost the close frame is never written.
      let channel = channel
      channel.eventLoop.scheduleTask(in: .seconds(5)) { channel.close(promise: nil) }
    }
  }

  /// Hands frames over one by one, so that the socket is read no faster than the client reads.
  private actor FrameReader {
    private var frames: [String] = []
    private var reader: CheckedContinuation<String, any Error>?
    private var writer: CheckedContinuation<Void, Never>?
    private var error: (any Error)?

    func put(_ text: String) async throws {
      if let error { throw error }
      if let reader {
        self.reader = nil
        return reader.resume(returning: text)
      }
      frames.append(text)
      if frames.count >= Limits.framesWaiting { await withCheckedContinuation { writer = $0 } }
    }

    func next() async throws -> String {
      if !frames.isEmpty {
        let text = frames.removeFirst()
        if frames.isEmpty { free() }
        return text
      }
      if let error { throw error }
      return try await withCheckedThrowingContinuation { reader = $0 }
    }

    /// What has arrived before the end is still read.
    func end(_ error: any Error) {
      if self.error == nil { self.error = error }
      reader?.resume(throwing: error)
      reader = nil
      free()
    }

    private func free() {
      writer?.resume()
      writer = nil
    }
  }

  extension TimeAmount {
    fileprivate init(_ duration: Duration) { self = .nanoseconds(duration.components.seconds * 1_000_000_000) }
  }
#endif
