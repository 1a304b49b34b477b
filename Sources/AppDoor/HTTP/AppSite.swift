import Accounts
import Addresses
import Basics
import Dialogs
public import HTTPPort
import HTTPTypes
import Hummingbird
import NIOCore

/// The app protocol on the HTTP port: a route for each operation, and the WebSocket. It converts requests to calls of
/// operations, and their outcomes to responses.
extension AppDoor {
  public var site: HTTPSite {
    let routes = Operations.all.map { operation in
      OperationRunner.route(operation.method, operation.path) { [self] in try await answer(operation, $0, $1, $2) }
    }
    let socket = HTTPSocket(
      path: webSocketPath, subprotocol: webSocketSubprotocol, messageBytesMax: AppLimits.frameBytesMax,
      fragmentsMax: AppLimits.fragmentsMax
    ) { [self] channel, peer, onLogin in
      try channel.pipeline.syncOperations.addHandler(
        SocketChannel(channel, door: self, address: peer.address, onLogin: onLogin))
    }
    return HTTPSite(routes: routes, sockets: [socket], stop: { [self] in streams.stop() })
  }

  // MARK: One request

  private func answer(
    _ operation: OperationEntry, _ request: Request, _ context: HTTPContext, _ rates: RateLog
  ) async throws -> Response {
    let peer = context.peer(of: request)
    let address = peer.address
    let now = parley.clock.now
    let caller = operation.needsCaller ? try await self.caller(of: request, from: address, now: now, rates) : nil
    var counted: RequestUnderWay?
    if let user = caller?.user { counted = try underWay.begin(context, of: user.id) }
    // A client that has left does not end the work for its request, with what that keeps in memory.
    defer { withExtendedLifetime(counted) {} }
    try charge(operation, caller?.user, from: address, now: now, rates)
    let owner = caller.map { parley.readOwner($0.user, from: address) } ?? .network(address)
    let picture = operation.takesBytes && !Self.isSmall(request) ? ReadPlace(picturePlaces, for: owner) : nil
    if let picture, await !picture.take(within: .seconds(AppLimits.pictureWaitSeconds)) {
      throw Self.picturesWaiting
    }
    defer { picture?.end() }
    if picture != nil { context.boundBody(to: .seconds(AppLimits.pictureSeconds), Self.pictureSlow) }
    var input = try await OperationInput(
      request, context, operation.method, pathParameters: operation.pathParameters, bytesMax: operation.bytesMax,
      takesBytes: operation.takesBytes)
    // Files and pictures have bounds of their own.
    if !operation.takesBytes, input.length > 0, let user = caller?.user {
      // A body may come slowly: the time at its beginning would give the user the seconds since then once more.
      let now = parley.clock.now
      try parley.sending.budget(of: user, from: address, now: now)
        .take(bytes: input.length, now: now, telling: rates, waitsForRooms: operation.rate == .messages)
    }
    if operation.streams {
      // A reconnecting client sends this header, which overrides the URL (WHATWG HTML 9.2.3).
      if let last = request.headers[values: .lastEventID].last { input.parameters["cursor"] = last }
      if request.method == .head { return Response(status: .ok, headers: Self.eventStreamHeaders) }
    }
    let place = caller.map { _ in ReadPlace(readPlaces, for: owner) }
    // What the response is made of is in memory once from then on.
    defer { place?.end() }
    let held = request.headers[values: .ifNoneMatch]
    let call = RequestContext(
      door: self, caller: caller,
      realm: caller.map { realm($0.user.realm) } ?? realm(host: request.head.authority), address: address,
      host: request.head.authority, isSecure: peer.isSecure, readPlace: place,
      isHeld: { Self.isHeld($0, in: held) }, whenClientLeaves: { context.whenClientLeaves($0) })
    switch try await ReadOwner.$current.withValue(owner, operation: { try await operation.perform(input, call) }) {
    case .done: return OperationRunner.response(204, nil)
    case .json(let status, let bytes, let tag):
      guard let tag else { return OperationRunner.response(status, bytes) }
      if call.isHeld(tag) { return Self.notModified(tag) }
      return OperationRunner.response(status, bytes, Self.conditionalHeaders(tag))
    case .held(let tag): return Self.notModified(tag)
    case .bytes(let download): return Self.response(download, to: request)
    case .stream(let stream):
      stream.whenCut { context.cut() }
      return Self.response(stream, to: request)
    }
  }

  /// Returns whose token a request has. One without a good token is counted for its network.
  private func caller(
    of request: Request, from address: String, now: Timestamp, _ rates: RateLog
  ) async throws -> Accounts.Caller {
    guard let token = OperationRunner.bearer(request) else {
      try limiters.anonymous.take(address, now: now, telling: rates)
      throw Problem(.unauthenticated, "token-missing", "Send an access token: Authorization: Bearer ...")
    }
    do throws(Problem) { return try await accounts.caller(accessToken: token) } catch {
      try limiters.anonymous.take(address, now: now, telling: rates)
      throw error
    }
  }

  /// Charges the request to its user, or else to its network.
  private func charge(
    _ operation: OperationEntry, _ user: Party?, from address: String, now: Timestamp, _ rates: RateLog
  ) throws {
    switch (operation.rate, user) {
    case (.none, _): break
    case (_, nil): try limiters.anonymous.take(address, now: now, telling: rates)
    case (.messages, let user?):
      try parley.sending.budget(of: user, from: address, now: now).take(messages: 1, now: now, telling: rates)
    case (.endsOfLogins, let user?): try limiters.others.take(user.id, now: now, telling: rates)
    case (.requests, let user?):
      try limiters.others.take(user.id, now: now, telling: rates)
      // Reads, too: a stream of events or a long poll has the user's contacts and rooms read.
      try parley.sending.budget(of: user, from: address, now: now).checkStanzas(now: now, telling: rates)
      // A request that changes a room may cause deliveries to all of its sessions.
      if operation.method != .get {
        try parley.sending.budget(of: user, from: address, now: now)
          .take(now: now, telling: rates, waitsForRooms: false)
      }
    }
  }

  /// Whether the body of a request announces no more bytes than an avatar may have, which is then not made smaller for them.
  private static func isSmall(_ request: Request) -> Bool {
    request.headers[.contentLength].flatMap { Int($0) }.map { $0 <= Limits.avatarBytesMax } ?? false
  }

  private static let picturesWaiting = Problem(
    .overloaded, "overloaded", "Many pictures are being sent. Try again in half a minute, or send a smaller one.",
    retryAfter: 30)
  private static let pictureSlow = HTTPRefusal(
    status: 408, code: "picture-slow",
    detail: "A picture of more than \(Limits.avatarBytesMax / 1_024) KiB has to come within "
      + "\(AppLimits.pictureSeconds) s. Send a smaller one.")

  // MARK: Responses

  private static let eventStreamHeaders: HTTPFields = [
    .contentType: "text/event-stream", .cacheControl: "no-store",
    // Buffering proxies would delay events.
    .accelBuffering: "no",
  ]

  /// Returns the response whose body is a stream of events. It ends when the client closes the connection, or its half:
  /// otherwise a client that was killed would be noticed by the second comment that it does not take.
  private static func response(_ stream: StreamChannel.Body, to request: Request) -> Response {
    let body = request.body
    return Response(
      status: .ok, headers: Self.eventStreamHeaders,
      body: ResponseBody { writer in
        defer { stream.ended() }
        try await body.consumeWithInboundCloseHandler { _ in
          for await chunk in stream.chunks {
            try await writer.write(chunk)
            stream.taken(chunk.readableBytes)
          }
        } onInboundClosed: {
          stream.ended()
        }
        try await writer.finish(nil)
      })
  }

  /// Returns the headers of what a client may keep, and must ask for all the same: access is checked at each request.
  private static func conditionalHeaders(_ tag: String) -> HTTPFields {
    [.eTag: "\"\(tag)\"", .cacheControl: "private, no-cache"]
  }

  private static func notModified(_ tag: String) -> Response {
    Response(status: .notModified, headers: conditionalHeaders(tag))
  }

  /// Returns whether the client has the resource (RFC 9110 13.1.2): compared weakly, as proxies may weaken a tag.
  ///
  /// - Parameter held: The values of `If-None-Match`.
  private static func isHeld(_ tag: String, in held: [String]) -> Bool {
    held.joined(separator: ",").split(separator: ",")
      .contains { ["*", "\"\(tag)\"", "W/\"\(tag)\""].contains($0.filter { $0 != " " }) }
  }

  private static func response(_ download: Download, to request: Request) -> Response {
    if isHeld(download.tag, in: request.headers[values: .ifNoneMatch]) { return notModified(download.tag) }
    var headers = conditionalHeaders(download.tag)
    headers[.contentType] = download.mediaType
    headers[.xContentTypeOptions] = "nosniff"
    headers[.contentSecurityPolicy] = "default-src 'none'; sandbox"
    headers[.contentDisposition] = download.fileName.map { "inline; filename=\"\($0)\"" } ?? "attachment"
    return Response(
      status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: download.bytes)))
  }
}

extension HTTPField.Name {
  // Constant names, made of token characters only.
  static let lastEventID = HTTPField.Name("Last-Event-ID")!
  static let accelBuffering = HTTPField.Name("X-Accel-Buffering")!
}
