import Accounts
import Addresses
import AppProtocol
import Basics
import Dialogs
public import HTTPPort
import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// The app protocol on the HTTP port: a route for each operation, and the WebSocket.
/// Turns requests into calls of operations and their outcomes into responses.
extension AppDoor {
  public var site: HTTPSite {
    let routes = Operations.all.map { operation in
      HTTPRoute(HTTPRequest.Method(operation.method), operation.path) { [self] request, context in
        try await RateLog.told { rates in
          do {
            return try await Self.run(operation, request, context, door: self, rates)
          } catch let problem as Problem {
            rates.note(problem)
            return respond(problem, request, context)
          }
        }
      }
    }
    let socket = HTTPSocket(
      path: webSocketPath, subprotocol: webSocketSubprotocol, messageBytesMax: AppLimits.frameBytesMax,
      fragmentsMax: AppLimits.fragmentsMax
    ) { [self] channel, peer in
      try channel.pipeline.syncOperations.addHandler(SocketChannel(channel, door: self, address: peer.address))
    }
    return HTTPSite(routes: routes, sockets: [socket], stop: { [self] in streams.stop() })
  }

  // MARK: One request

  private static func run(
    _ operation: OperationEntry, _ request: Request, _ context: HTTPContext, door: AppDoor, _ rates: RateLog
  ) async throws -> Response {
    let peer = context.peer(of: request)
    let address = peer.address
    let now = door.parley.clock.now
    var caller: Accounts.Caller?
    if operation.needsCaller {
      guard let token = bearer(request) else {
        try door.limiters.anonymous.take(address, now: now, telling: rates)
        throw Problem(.unauthenticated, "token-missing", "Send an access token: Authorization: Bearer ...")
      }
      do throws(Problem) {
        caller = try await door.accounts.caller(accessToken: token)
      } catch {
        try door.limiters.anonymous.take(address, now: now, telling: rates)
        throw error
      }
    }
    if let caller {
      if operation.name == SendMessage.name {
        try door.limiters.messages.take(caller.user.id, now: now, telling: rates)
      } else {
        try door.limiters.others.take(caller.user.id, now: now, telling: rates)
      }
    } else if operation.name != GetHealth.name {
      try door.limiters.anonymous.take(address, now: now, telling: rates)
    }

    var received = Received()
    for name in operation.pathParameters {
      guard let value = context.parameters.get(name).flatMap({ PercentEncoding.decode($0) }) else {
        throw Problem(.malformed, "path-malformed", "The path's \(name) is not percent-encoded UTF-8.", field: name)
      }
      received.parameters[name] = value
    }
    switch operation.method {
    case .get, .delete:
      for (name, value) in request.uri.queryParameters where received.parameters[String(name)] == nil {
        received.parameters[String(name)] = String(value)
      }
    case .post, .put, .patch:
      let body = try await body(of: request, upTo: operation.bytesMax)
      if operation.takesBytes {
        received.bytes = Array(body.readableBytesView)
      } else if body.readableBytes > 0 {
        do throws(JSONError) { received.json = try JSONValue(parsing: Array(body.readableBytesView)) } catch {
          throw Problem(error)
        }
        guard case .object = received.json else {
          throw Problem(.malformed, "input-malformed", "The body must be a JSON object.")
        }
      }
    }
    if operation.streams {
      // WHATWG HTML 9.2.3: a client that comes back says so, whatever the URL says.
      if let last = request.headers[values: .lastEventID].last { received.parameters["cursor"] = last }
      if request.method == .head { return Response(status: .ok, headers: eventStreamHeaders) }
    }
    let call = RequestContext(
      door: door, caller: caller,
      realm: caller.map { door.realm($0.user.realm) } ?? door.realm(host: request.head.authority), address: address,
      host: request.head.authority, isSecure: peer.isSecure)
    switch try await operation.perform(received, call) {
    case .done: return Response(status: .noContent, headers: [.cacheControl: "no-store"])
    case .json(let status, let bytes, let tag):
      guard let tag else { return response(status, "application/json", bytes) }
      // Who may see it is asked each time.
      let headers: HTTPFields = [.eTag: "\"\(tag)\"", .cacheControl: "private, no-cache"]
      if isHeld("\"\(tag)\"", by: request) { return Response(status: .notModified, headers: headers) }
      return response(status, "application/json", bytes, headers)
    case .bytes(let download): return response(download, to: request)
    case .stream(let stream): return response(stream)
    }
  }

  private static func body(of request: Request, upTo bytesMax: Int) async throws -> ByteBuffer {
    let tooLarge = HTTPRefusal(
      status: 413, code: "body-too-large", detail: "The body of this request has at most \(bytesMax) bytes.")
    // Who says so beforehand need not be waited for.
    if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > bytesMax { throw tooLarge }
    do {
      return try await request.body.collect(upTo: bytesMax)
    } catch is NIOTooManyBytesError {
      throw tooLarge
    }
  }

  /// RFC 6750 2.1.
  private static func bearer(_ request: Request) -> String? {
    guard let field = request.headers[.authorization] else { return nil }
    let parts = field.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
    return String(parts[1])
  }

  // MARK: Answers

  private static func response(_ status: Int, _ type: String, _ bytes: [UInt8], _ extra: HTTPFields = [:]) -> Response {
    var headers = extra
    headers[.contentType] = type
    // Answers hold tokens and private messages.
    if headers[.cacheControl] == nil { headers[.cacheControl] = "no-store" }
    return Response(
      status: HTTPResponse.Status(code: status), headers: headers,
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
  }

  private static let eventStreamHeaders: HTTPFields = [
    .contentType: "text/event-stream", .cacheControl: "no-store",
    // What proxies gather comes late.
    .accelBuffering: "no",
  ]

  private static func response(_ stream: StreamChannel.Body) -> Response {
    Response(
      status: .ok, headers: eventStreamHeaders,
      body: ResponseBody { writer in
        defer { stream.ended() }
        for await chunk in stream.chunks {
          try await writer.write(chunk)
          stream.taken(chunk.readableBytes)
        }
        try await writer.finish(nil)
      })
  }

  /// RFC 9110 13.1.2: weakly compared, so what a proxy made of the tag is as good.
  private static func isHeld(_ tag: String, by request: Request) -> Bool {
    let held = request.headers[values: .ifNoneMatch].joined(separator: ",").split(separator: ",")
    return held.contains { ["*", tag, "W/\(tag)"].contains($0.filter { $0 != " " }) }
  }

  private static func response(_ download: Download, to request: Request) -> Response {
    let tag = "\"\(download.tag)\""
    // Who may see it is asked each time; the bytes are sent once.
    var headers: HTTPFields = [.eTag: tag, .cacheControl: "private, no-cache"]
    if isHeld(tag, by: request) { return Response(status: .notModified, headers: headers) }
    headers[.contentType] = download.mediaType
    headers[.xContentTypeOptions] = "nosniff"
    headers[.contentSecurityPolicy] = "default-src 'none'; sandbox"
    headers[.contentDisposition] = download.fileName.map { "inline; filename=\"\($0)\"" } ?? "attachment"
    return Response(
      status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: download.bytes)))
  }

  private func respond(_ problem: Problem, _ request: Request, _ context: HTTPContext) -> Response {
    var headers: HTTPFields = [:]
    if let seconds = problem.retryAfter { headers[.retryAfter] = "\(seconds)" }
    if problem.kind == .unauthenticated { headers[.wwwAuthenticate] = "Bearer" }
    if problem.kind == .internal {
      logger.error(
        "a request failed",
        metadata: ["request": "\(context.id)", "code": "\(problem.code)", "path": "\(request.uri.path)"])
    }
    return Response(ProblemBody(problem, requestID: context.id), headers: headers)
  }
}

extension HTTPRequest.Method {
  init(_ method: AppProtocol.Method) {
    self =
      switch method {
      case .get: .get
      case .post: .post
      case .put: .put
      case .patch: .patch
      case .delete: .delete
      }
  }
}

extension HTTPField.Name {
  // Constant names, made of token characters only.
  static let lastEventID = HTTPField.Name("Last-Event-ID")!
  static let accelBuffering = HTTPField.Name("X-Accel-Buffering")!
}
