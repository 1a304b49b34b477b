import Basics
import Dialogs
import HTTPTypes
public import Hummingbird
public import NIOCore
import NIOHTTP1

/// The request context of Hummingbird with the peer's address.
public struct HTTPContext: RequestContext {
  public var coreContext: CoreRequestContextStorage
  private let channel: any Channel
  private let remoteAddress: SocketAddress?
  var isSecure = false
  var proxies = TrustedProxies()
  /// The log of this port's refusals; nil before the responder has the request.
  var refusals: RefusalLog?
  /// The downloads under way; nil if they are not bounded.
  var downloads: Downloads?

  public init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    channel = source.channel
    remoteAddress = channel.remoteAddress
  }

  /// Returns the answer to a refused request, with the id of its line in the log.
  func refuse(_ request: Request, _ problem: ProblemBody, _ headers: HTTPFields = [:]) -> Response {
    var problem = problem
    problem.requestId = id
    // The route, not the path, which may contain a token.
    refusals?.note(
      "a request", problem.code, isFault: problem.status == 500,
      [
        "request": id, "route": [request.method.rawValue, endpointPath].compactMap { $0 }.joined(separator: " "),
        "status": "\(problem.status)", "peer": peer(of: request).address,
      ])
    return Response(problem, headers: headers)
  }

  func refuse(_ request: Request, _ refusal: HTTPRefusal) -> Response {
    refuse(
      request, ProblemBody(status: refusal.status, detail: refusal.detail, code: refusal.code), refusal.headers)
  }

  /// Returns the whole body of a request. `BodyPaceHandler` counts its memory until it is complete.
  ///
  /// - Parameters:
  ///   - bytesMax: The maximum length of the body in bytes.
  ///   - wider: Called with the beginning of a longer body. Returns the maximum length for a logged-in user's body, and nil
  ///     otherwise.
  /// - Throws: An `HTTPRefusal` (413) if it is too long.
  public func body(
    of request: Request, upTo bytesMax: Int, wider: @Sendable (ByteBuffer) -> Int? = { _ in nil }
  ) async throws -> ByteBuffer {
    var (bytesMax, mayBeWider) = (bytesMax, true)
    var body = ByteBuffer()
    for try await var piece in request.body {
      body.writeBuffer(&piece)
      if body.readableBytes > bytesMax, mayBeWider, let most = wider(body) {
        (bytesMax, mayBeWider) = (most, false)
        noteLogin()
      }
      guard body.readableBytes <= bytesMax else { throw Self.tooLarge(bytesMax) }
    }
    return body
  }

  static func tooLarge(_ bytesMax: Int) -> HTTPRefusal {
    HTTPRefusal(status: 413, code: "body-too-large", detail: "The body of this request has at most \(bytesMax) bytes.")
  }

  /// Returns a response's body that is read piece by piece, each after the connection has accepted the former one.
  ///
  /// NIO's writer pauses when the connection is full, but only once the event loop has noticed: while the loop is busy, a faster
  /// source, such as a disk, would put whole files into its queue.
  ///
  /// - Parameter piece: Returns the next bytes, at most as many as are left.
  public func body(length: Int, _ piece: @escaping @Sendable (_ left: Int) async throws -> ByteBuffer) -> ResponseBody {
    let loop = channel.eventLoop
    return ResponseBody(contentLength: length) { writer in
      var left = length
      while left > 0 {
        let bytes = try await piece(left)
        left -= bytes.readableBytes
        try await writer.write(bytes)
        try await loop.submit {}.get()
      }
      try await writer.finish(nil)
    }
  }

  /// Returns the response to a request, or a refusal if it is a download for which there is no place.
  ///
  /// A long response to another method than GET is a download, too, but is always sent, since the client must know what it has changed.
  func admit(_ response: Response, to request: Request) -> Response {
    guard let downloads, request.method != .head, let length = response.body.contentLength,
      length >= HTTPLimits.downloadBytesLeast
    else { return response }
    // A response with ranges is a file, which is read piece by piece and not in memory.
    let bytes = response.headers[.acceptRanges] == "bytes" ? 0 : length
    do throws(Downloads.Refusal) {
      let place = try downloads.admit(
        peer(of: request).address, bytes: bytes, isOwed: request.method != .get
      ) { [channel] in
        channel.eventLoop.execute { Self.giveWay(channel) }
      }
      // Runs before the response is written, later on the same loop.
      channel.eventLoop.execute { [channel] in
        // A closed channel has no handlers.
        guard let handler = try? channel.pipeline.syncOperations.handler(type: ResponsePaceHandler.self) else {
          return place.end()
        }
        handler.hold(place)
        // The place may be lost already.
        Self.giveWay(channel)
      }
      return response
    } catch {
      if request.method != .get { return response }
      var headers: HTTPFields = [.retryAfter: "\(HTTPLimits.downloadRetrySeconds)"]
      // A page that may read the file may also read the refusal.
      for name in [HTTPField.Name.accessControlAllowOrigin, .accessControlExposeHeaders] {
        headers[name] = response.headers[name]
      }
      return refuse(request, error.problem, headers)
    }
  }

  /// Closes the connection after another network has got the place of its download, unless the response has ended meanwhile and the
  /// connection serves another request.
  private static func giveWay(_ channel: any Channel) {
    let pipeline = channel.pipeline.syncOperations
    if (try? pipeline.handler(type: ResponsePaceHandler.self))?.hasLostPlace == true { pipeline.cut() }
  }

  /// Calls `body` once if the client disconnects before the response to this request.
  public func whenClientLeaves(_ body: @escaping @Sendable () -> Void) {
    channel.eventLoop.execute { [channel] in
      // A closed channel has no handlers.
      guard let handler = try? channel.pipeline.syncOperations.handler(type: ClientEndHandler.self) else {
        return body()
      }
      handler.wait(body)
    }
  }

  /// Closes the connection at once, and drops unsent output.
  package func cut() {
    channel.eventLoop.execute { [channel] in channel.pipeline.syncOperations.cut() }
  }

  /// Notes that the request is one of a logged-in user, so that its connection is not closed for others while its body arrives at the
  /// minimum rate, and from the end of the body to the end of the response. An incomplete body counts with those of logged-in users.
  ///
  /// - Parameters:
  ///   - isOnDisk: Whether the body is written to the disk piece by piece, so that its memory does not count.
  ///   - onEnd: Called once, when the response or the connection has ended.
  public func noteLogin(isOnDisk: Bool = false, onEnd: @escaping @Sendable () -> Void = {}) {
    // Runs before the response is written, later on the same loop.
    channel.eventLoop.execute { [channel] in
      let pipeline = channel.pipeline.syncOperations
      // A closed channel has no handlers.
      guard let place = try? pipeline.handler(type: ConnectionPlace.self) else { return onEnd() }
      place.logIn(onEnd: onEnd)
      // Most bodies are complete.
      guard place.complete == 0, let context = try? pipeline.context(handlerType: BodyPaceHandler.self) else { return }
      (context.handler as? BodyPaceHandler)?.logIn(context, isOnDisk: isOnDisk)
    }
  }

  /// Bounds the time until the body of the request is complete. After it the request is answered with the refusal, whose status is
  /// 408, and its connection ends.
  public func boundBody(to time: TimeAmount, _ refusal: HTTPRefusal) {
    // Runs before the response is written, later on the same loop.
    channel.eventLoop.execute { [channel] in
      // A closed channel has no handlers.
      let pipeline = channel.pipeline.syncOperations
      guard let context = try? pipeline.context(handlerType: BodyPaceHandler.self) else { return }
      (context.handler as? BodyPaceHandler)?.bound(context, to: time, refusal)
    }
  }

  public func peer(of request: Request) -> HTTPPeer {
    HTTPPeer(remoteAddress, isSecure: isSecure, ForwardedFields(request.headers), proxies)
  }
}

/// The peer of a connection.
public struct HTTPPeer: Sendable, Equatable {
  /// The address to which per-address limits apply.
  public let address: String
  /// Whether TLS ends at this port.
  public let isSecure: Bool
  /// Whether the traffic crosses no network unencrypted, as far as this machine can tell: TLS ends here, or the peer is
  /// a program on this machine, such as a proxy, that does not report plain HTTP (`X-Forwarded-Proto`). A proxy on another
  /// machine must report HTTPS; the operator who lists it vouches for the network in between.
  public let isPrivate: Bool

  init(_ remote: SocketAddress?, isSecure: Bool, _ fields: ForwardedFields, _ proxies: TrustedProxies) {
    address = ClientAddress.of(fields, remote, proxies)
    self.isSecure = isSecure
    isPrivate = isSecure || Self.isPrivate(remote, fields, proxies)
  }

  init(_ head: HTTPRequestHead, _ remote: SocketAddress?, isSecure: Bool, _ proxies: TrustedProxies) {
    self.init(remote, isSecure: isSecure, ForwardedFields(head.headers), proxies)
  }

  private static func isPrivate(
    _ remote: SocketAddress?, _ fields: ForwardedFields, _ proxies: TrustedProxies
  ) -> Bool {
    if ClientAddress.isLocal(remote) { return !["http", "ws"].contains(fields.proto) }
    return proxies.contains(remote) && ["https", "wss"].contains(fields.proto)
  }
}
