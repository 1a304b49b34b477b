import Addresses
import AppProtocol
import Dialogs
import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// What Hummingbird knows of a request, and who is at the other end.
struct AppContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  let remoteAddress: SocketAddress?

  init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    remoteAddress = source.channel.remoteAddress
  }
}

/// A refusal that has no kind in the domain: the request never got as far as an
/// operation.
struct HTTPRefusal: Error {
  let status: Int
  let code: String
  let detail: String
  var headers: HTTPFields = [:]
}

/// Turns requests into calls of operations and their outcomes into responses.
/// Every answer, refusals included, is made here.
struct AppResponder: HTTPResponder {
  typealias Context = AppContext

  private let door: AppDoor
  private let isSecure: Bool
  private let router: RouterResponder<AppContext>

  init(door: AppDoor, isSecure: Bool) {
    self.door = door
    self.isSecure = isSecure
    // RFC 9110 9.1: who has GET has HEAD.
    let router = Router(context: AppContext.self, options: .autoGenerateHeadEndpoints)
    for (path, operations) in Dictionary(grouping: Operations.all, by: \.path) {
      for operation in operations {
        router.on(RouterPath(path), method: HTTPRequest.Method(operation.method)) { request, context in
          try await Self.run(operation, request, context, door: door, isSecure: isSecure)
        }
      }
      Self.refuseOthers(path, than: operations.map(\.method), router)
    }
    router.get(RouterPath(webSocketPath)) { request, _ -> Response in
      // Whoever asked for an upgrade and got here did not ask for our subprotocol.
      throw HTTPRefusal(
        status: request.headers[.secWebSocketKey] == nil ? 426 : 400,
        code: request.headers[.secWebSocketKey] == nil ? "upgrade-required" : "subprotocol-missing",
        detail: "This is a WebSocket: upgrade with Sec-WebSocket-Protocol: \(webSocketSubprotocol).",
        headers: [.upgrade: "websocket"])
    }
    self.router = router.buildResponder()
  }

  private static func refuseOthers(_ path: String, than allowed: [AppProtocol.Method], _ router: Router<AppContext>) {
    let allow = allowed.map(\.rawValue).sorted().joined(separator: ", ")
    for method in AppProtocol.Method.allCases where !allowed.contains(method) {
      router.on(RouterPath(path), method: HTTPRequest.Method(method)) { _, _ -> Response in
        throw HTTPRefusal(
          status: 405, code: "method-not-allowed", detail: "Here is only \(allow).", headers: [.allow: allow])
      }
    }
  }

  func respond(to request: Request, context: AppContext) async throws -> Response {
    let response = try await answer(to: request, context)
    // RFC 9110 9.3.2: no content behind it, of a refusal neither, or the client takes it for the next answer.
    return request.method == .head ? response.createHeadResponse() : response
  }

  private func answer(to request: Request, _ context: AppContext) async throws -> Response {
    do {
      let response = try await router.respond(to: request, context: context)
      // What is refused here is thrown; an answer of this kind is Hummingbird's own.
      return response.status.code < 400 ? response : respond(refusal(response.status.code), context)
    } catch let problem as Problem {
      return respond(problem, request, context)
    } catch let refusal as HTTPRefusal {
      return respond(refusal, context)
    }
  }

  private func refusal(_ status: Int) -> HTTPRefusal {
    switch status {
    case 404: HTTPRefusal(status: 404, code: "path-unknown", detail: "There is nothing at this path.")
    case 405: HTTPRefusal(status: 405, code: "method-not-allowed", detail: "This method is not for this path.")
    default: HTTPRefusal(status: 400, code: "request-malformed", detail: "The request is malformed.")
    }
  }

  // MARK: One request

  private static func run(
    _ operation: OperationEntry, _ request: Request, _ context: AppContext, door: AppDoor, isSecure: Bool
  ) async throws -> Response {
    let address = ClientAddress.of(request.headers, context.remoteAddress)
    let now = door.parley.clock.now
    var caller: Parley.Caller?
    if operation.needsCaller {
      guard let token = bearer(request) else {
        try door.limiters.anonymous.take(address, now: now)
        throw Problem(.unauthenticated, "token-missing", "Send an access token: Authorization: Bearer ...")
      }
      do throws(Problem) {
        caller = try await door.parley.caller(accessToken: token)
      } catch {
        try door.limiters.anonymous.take(address, now: now)
        throw error
      }
    }
    if let caller {
      if operation.name == SendMessage.name {
        try door.limiters.messages.take(caller.user.id, now: now)
      } else {
        try door.limiters.others.take(caller.user.id, now: now)
      }
    } else if operation.name != GetHealth.name {
      try door.limiters.anonymous.take(address, now: now)
    }

    var received = Received()
    for name in operation.pathParameters {
      guard let value = context.parameters.get(name).flatMap({ PercentDecoding.decode($0) }) else {
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
    let call = Call(
      door: door, caller: caller,
      realm: caller.map { door.realm($0.user.realm) } ?? door.realm(host: request.head.authority), address: address,
      host: request.head.authority, isSecure: isSecure)
    switch try await operation.perform(received, call) {
    case .done: return Response(status: .noContent, headers: [.cacheControl: "no-store"])
    case .json(let status, let bytes): return response(status, "application/json", bytes)
    case .bytes(let download): return response(download, to: request)
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
    headers[.cacheControl] = "no-store"
    return Response(
      status: HTTPResponse.Status(code: status), headers: headers,
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
  }

  private static func response(_ download: Download, to request: Request) -> Response {
    let tag = "\"\(download.tag)\""
    // Who may see it is asked each time; the bytes are sent once.
    var headers: HTTPFields = [.eTag: tag, .cacheControl: "private, no-cache"]
    // RFC 9110 13.1.2: weakly compared, so what a proxy made of the tag is as good.
    let held = request.headers[values: .ifNoneMatch].joined(separator: ",").split(separator: ",")
    if held.contains(where: { ["*", tag, "W/\(tag)"].contains($0.filter { $0 != " " }) }) {
      return Response(status: .notModified, headers: headers)
    }
    headers[.contentType] = download.mediaType
    headers[.xContentTypeOptions] = "nosniff"
    headers[.contentSecurityPolicy] = "default-src 'none'; sandbox"
    headers[.contentDisposition] = download.fileName.map { "inline; filename=\"\($0)\"" } ?? "attachment"
    return Response(
      status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: download.bytes)))
  }

  private func respond(_ body: ProblemBody, _ headers: HTTPFields) -> Response {
    var writer = JSONWriter()
    body.write(to: &writer)
    return Self.response(body.status, "application/problem+json", writer.bytes, headers)
  }

  private func respond(_ problem: Problem, _ request: Request, _ context: AppContext) -> Response {
    var headers: HTTPFields = [:]
    if let seconds = problem.retryAfter { headers[.retryAfter] = "\(seconds)" }
    if problem.kind == .unauthenticated { headers[.wwwAuthenticate] = "Bearer" }
    if problem.kind == .internal {
      door.logger.error(
        "a request failed",
        metadata: ["request": "\(context.id)", "code": "\(problem.code)", "path": "\(request.uri.path)"])
    }
    return respond(ProblemBody(problem, requestID: context.id), headers)
  }

  private func respond(_ refusal: HTTPRefusal, _ context: AppContext) -> Response {
    respond(
      ProblemBody(
        title: Titles.title(refusal.status), status: refusal.status, detail: refusal.detail, code: refusal.code,
        requestId: context.id), refusal.headers)
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
