import HTTPTypes
import Hummingbird

/// Finds the route of a request among those of all sites. Refusals are answered here.
struct SiteResponder: HTTPResponder {
  typealias Context = HTTPContext

  private let isSecure: Bool
  private let router: RouterResponder<HTTPContext>

  init(_ sites: [HTTPSite], isSecure: Bool) {
    self.isSecure = isSecure
    // RFC 9110 9.1: who has GET has HEAD.
    let router = Router(context: HTTPContext.self, options: .autoGenerateHeadEndpoints)
    router.add(middleware: Refusals())
    var routes = sites.flatMap(\.routes)
    routes += sites.flatMap(\.sockets).map { socket in
      HTTPRoute(.get, socket.path) { try Self.refuse($0, $1, socket) }
    }
    for route in routes { router.on(RouterPath(route.path), method: route.method, use: route.handle) }
    for (path, routes) in Dictionary(grouping: routes, by: \.path) {
      Self.refuseOthers(path, than: routes.map(\.method), router)
    }
    self.router = router.buildResponder()
  }

  /// Whoever asked for an upgrade and got here did not ask for the subprotocol, or not first (`FirstRequestHandler`).
  private static func refuse(_ request: Request, _ context: HTTPContext, _ socket: HTTPSocket) throws -> Response {
    if let refusal = socket.refusal(context.peer(of: request)) { throw refusal }
    let names = request.headers[values: .secWebSocketProtocol].flatMap { $0.split(separator: ",") }
    if request.headers[.secWebSocketKey] != nil, request.headers[.secWebSocketVersion] == "13",
      names.contains(where: { $0.trimmingPrefix(while: \.isWhitespace) == socket.subprotocol })
    {
      throw HTTPRefusal(
        status: 400, code: "upgrade-late",
        detail: "A WebSocket is asked for by the first request of its connection: make another connection.")
    }
    throw HTTPRefusal(
      status: request.headers[.secWebSocketKey] == nil ? 426 : 400,
      code: request.headers[.secWebSocketKey] == nil ? "upgrade-required" : "subprotocol-missing",
      detail: "This is a WebSocket: upgrade with Sec-WebSocket-Protocol: \(socket.subprotocol).",
      headers: [.upgrade: "websocket"])
  }

  private static func refuseOthers(_ path: String, than allowed: [HTTPRequest.Method], _ router: Router<HTTPContext>) {
    let allow = allowed.map(\.rawValue).sorted().joined(separator: ", ")
    for method in Self.methods
    where !allowed.contains(method) && !(method == .head && allowed.contains(.get)) {
      router.on(RouterPath(path), method: method) { _, _ -> Response in
        throw HTTPRefusal(
          status: 405, code: "method-not-allowed", detail: "Here is only \(allow).", headers: [.allow: allow])
      }
    }
  }

  /// Those that some path may have, and the one that stands for all others (TRACE, QUERY, ...), which no path has.
  private static let methods: [HTTPRequest.Method] = [
    .get, .head, .post, .put, .patch, .delete, .options, Self.other,
  ]
  private static let other = HTTPRequest.Method.trace

  func respond(to request: Request, context: HTTPContext) async throws -> Response {
    var context = context
    context.isSecure = isSecure
    // RFC 9112 3.2; `HostHandler` has looked.
    if request.head.authority == "" {
      let refusal = HTTPRefusal(
        status: 400, code: "host-malformed",
        detail: "A request has one Host: a name or an address, and perhaps a port.")
      let response = Response(refusal, requestID: context.id)
      return request.method == .head ? response.createHeadResponse() : response
    }
    var request = request
    if !Self.methods.contains(request.method) {
      var head = request.head
      head.method = Self.other
      request = Request(head: head, body: request.body)
    }
    let response = try await router.respond(to: request, context: context)
    // RFC 9110 9.3.2: no content behind it, of a refusal neither, or the client takes it for the next answer.
    return request.method == .head ? response.createHeadResponse() : response
  }

  /// Makes what is thrown an answer: by sites, and by Hummingbird where it knows no route.
  private struct Refusals: RouterMiddleware {
    func handle(
      _ request: Request, context: HTTPContext, next: (Request, HTTPContext) async throws -> Response
    ) async throws -> Response {
      do {
        return try await next(request, context)
      } catch let refusal as HTTPRefusal {
        return Response(refusal, requestID: context.id)
      } catch let error as any HTTPResponseError {
        return Response(Self.refusal(Int(error.status.code)), requestID: context.id)
      }
    }

    private static func refusal(_ status: Int) -> HTTPRefusal {
      switch status {
      case 404: HTTPRefusal(status: 404, code: "path-unknown", detail: "There is nothing at this path.")
      case 405: HTTPRefusal(status: 405, code: "method-not-allowed", detail: "This method is not for this path.")
      default: HTTPRefusal(status: 400, code: "request-malformed", detail: "The request is malformed.")
      }
    }
  }
}
