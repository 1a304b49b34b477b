import Basics
import NIOCore
import NIOPosix
import NIOSSL
import ServerConfiguration
import XMLStream
import XMPP

/// The client's end of an XMPP stream, sufficient for probing. It trusts any certificate, since it connects to the
/// server whose data folder it has.
final class ProbeStream {
  enum Failure: Error {
    /// The server closed the stream or was silent for `ProbeLimits.wait`.
    case ended
    case refused(String)
  }

  private let channel: any Channel
  private let domain: String
  private var elements: AsyncStream<Element>.AsyncIterator
  private var lastID = 0

  private init(_ channel: any Channel, _ domain: String, _ elements: AsyncStream<Element>) {
    self.channel = channel
    self.domain = domain
    self.elements = elements.makeAsyncIterator()
  }

  /// - Parameter header: The bytes with which the connection begins, before TLS.
  static func connect(
    to endpoint: Settings.Endpoint, tls: Bool, domain: String, header: [UInt8] = [], group: any EventLoopGroup
  ) async throws -> ProbeStream {
    let (elements, continuation) = AsyncStream.makeStream(of: Element.self)
    let context = tls ? try Self.trusting(protocols: ["xmpp-client"]) : nil
    let later = tls ? nil : try Self.trusting(protocols: [])
    let channel = try await Self.bootstrap(group)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          if !header.isEmpty { try pipeline.addHandler(HeaderSender(header)) }
          if let context { try pipeline.addHandler(NIOSSLClientHandler(context: context, serverHostname: nil)) }
          try pipeline.addHandler(ElementsHandler(continuation, starting: later))
          // A silent server is not waited for.
          channel.eventLoop.assumeIsolated().scheduleTask(in: ProbeLimits.wait) { channel.close(promise: nil) }
        }
      }
      .connect(host: Host.reached(endpoint.host), port: endpoint.port).get()
    return ProbeStream(channel, domain, elements)
  }

  static func bootstrap(_ group: any EventLoopGroup) -> ClientBootstrap {
    ClientBootstrap(group: group).connectTimeout(ProbeLimits.wait)
  }

  static func trusting(protocols: [String]) throws -> NIOSSLContext {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.certificateVerification = .none
    configuration.applicationProtocols = protocols
    return try NIOSSLContext(configuration: configuration)
  }

  func close() { channel.close(promise: nil) }

  // MARK: Elements

  func send(_ xml: String) async throws { try await channel.writeAndFlush(ByteBuffer(string: xml)) }

  func next() async throws -> Element {
    guard let element = await elements.next() else { throw Failure.ended }
    return element
  }

  /// Sends a stream header and returns the features.
  func open(namespace: StaticString = NS.client) async throws -> Element {
    try await send(
      "<?xml version='1.0'?><stream:stream xmlns='\(namespace)' xmlns:stream='\(NS.streams)' to='\(domain)' "
        + "version='1.0'>")
    return try await next()
  }

  /// Negotiates STARTTLS (RFC 6120 5.4).
  func startTLS() async throws {
    try await send("<starttls xmlns='\(NS.tls)'/>")
    let answer = try await next()
    guard answer.is(.proceedTLS) else { throw Failure.refused(answer.local) }
  }

  /// Authenticates with PLAIN and binds a resource; returns the features of the authenticated stream.
  func logIn(_ user: String, password: String) async throws -> Element {
    let response = String(decoding: Base64.encode([0] + Array(user.utf8) + [0] + Array(password.utf8)), as: UTF8.self)
    try await send("<auth xmlns='\(NS.sasl)' mechanism='PLAIN'>\(response)</auth>")
    let answer = try await next()
    guard answer.is(.success) else { throw Failure.refused(answer.children.first { _ in true }?.local ?? answer.local) }
    let features = try await open()
    _ = try await ask("set", "<bind xmlns='\(NS.bind)'><resource>parley-check</resource></bind>")
    return features
  }

  /// Sends an IQ request and returns its answer; other stanzas are skipped.
  func ask(_ type: String, to: String? = nil, _ payload: String) async throws -> Element {
    lastID += 1
    let id = "probe-\(lastID)"
    try await send("<iq type='\(type)' id='\(id)'\(to.map { " to='\($0)'" } ?? "")>\(payload)</iq>")
    while true {
      let element = try await next()
      if element["id"] == id, element.local == "iq" { return element }
    }
  }
}

/// Sends the header of a proxy when the connection is open, before the handlers behind this one send anything.
private final class HeaderSender: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let header: [UInt8]

  init(_ header: [UInt8]) { self.header = header }

  func channelActive(context: ChannelHandlerContext) {
    context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: header)), promise: nil)
    context.fireChannelActive()
  }
}

/// Parses bytes to elements. A new stream begins behind `<proceed/>` and `<success/>` (RFC 6120 5.4.3.3, 6.4.6), behind
/// `<proceed/>` over TLS: what comes in the clear behind it is dropped.
final class ElementsHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let elements: AsyncStream<Element>.Continuation
  /// The context of the TLS that `<proceed/>` starts; nil where TLS is there from the first byte.
  private let tls: NIOSSLContext?
  private var reader: ElementReader? = ElementReader(limits: .authenticated)

  init(_ elements: AsyncStream<Element>.Continuation, starting tls: NIOSSLContext?) {
    self.elements = elements
    self.tls = tls
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var bytes = unwrapInboundIn(data)
    while bytes.readableBytes > 0, var reader = reader.take() {
      var isRestart = false
      var isSecuring = false
      let read = bytes.withUnsafeReadableBytes { raw in
        reader.feed(raw) { event in
          switch event {
          case .element(let element):
            isSecuring = element.is(.proceedTLS)
            isRestart = isSecuring || element.is(.success)
            elements.yield(element)
          case .closed, .violation: elements.finish()
          case .opened, .whitespace: break
          }
          return isRestart ? .stop : .proceed
        }
      }
      bytes.moveReaderIndex(forwardBy: read)
      self.reader = isRestart ? ElementReader(limits: .authenticated) : reader
      if isSecuring {
        bytes.clear()
        secure(context)
      }
    }
  }

  private func secure(_ context: ChannelHandlerContext) {
    guard let tls else { return context.close(promise: nil) }
    do {
      try context.pipeline.syncOperations.addHandler(
        NIOSSLClientHandler(context: tls, serverHostname: nil), position: .first)
    } catch {
      context.close(promise: nil)
    }
  }

  func channelInactive(context: ChannelHandlerContext) { elements.finish() }
  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
