import Dialogs
import HTTPTypes
import Hummingbird
import Tracing

/// Dispatches a request to the routes of all sites, and answers refusals.
struct SiteResponder: HTTPResponder {
  typealias Context = HTTPContext

  private let isSecure: Bool
  private let isStrict: @Sendable (String?) -> Bool
  private let origins: AllowedOrigins
  private let proxies: TrustedProxies
  private let router: RouterResponder<HTTPContext>
  private let traces: Traces?
  private let refusals: RefusalLog
  private let downloads: Downloads?

  init(
    _ sites: [HTTPSite], origins: AllowedOrigins, proxies: TrustedProxies, isSecure: Bool,
    isStrict: @escaping @Sendable (String?) -> Bool, traces: Traces?, refusals: RefusalLog, downloads: Downloads?
  ) {
    self.isStrict = isStrict
    self.refusals = refusals
    self.downloads = downloads
    self.isSecure = isSecure
    self.origins = origins
    self.proxies = proxies
    self.traces = traces
    // RFC 9110 9.1: GET implies HEAD.
    let router = Router(context: HTTPContext.self, options: .autoGenerateHeadEndpoints)
    router.add(middleware: Refusals(otherwise: sites.compactMap(\.otherwise)))
    var routes = sites.flatMap(\.routes)
    routes += sites.flatMap(\.sockets).map { socket in
      HTTPRoute(.get, socket.path) { try Self.refuse($0, $1, socket, origins) }
    }
    for route in routes { router.on(RouterPath(route.path), method: route.method, use: route.handle) }
    for (path, routes) in Dictionary(grouping: routes, by: \.path) {
      Self.refuseOthers(path, than: routes.map(\.method), origins, router)
    }
    self.router = router.buildResponder()
  }

  /// Refuses an upgrade request without the subprotocol, or after the connection's first request
  /// (`FirstRequestHandler`).
  private static func refuse(
    _ request: Request, _ context: HTTPContext, _ socket: HTTPSocket, _ origins: AllowedOrigins
  ) throws -> Response {
    guard origins.allows(origin: request.headers[.origin], host: request.head.authority) else {
      throw HTTPRefusal(
        status: 403, code: "origin-refused", detail: "Pages of this origin may not use this server (http.origins).")
    }
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

  private static func refuseOthers(
    _ path: String, than allowed: [HTTPRequest.Method], _ origins: AllowedOrigins, _ router: Router<HTTPContext>
  ) {
    let names = allowed.map(\.rawValue).sorted()
    let allow = names.joined(separator: ", ")
    let supported = [names.dropLast().joined(separator: ", "), names.last ?? ""].filter { !$0.isEmpty }
      .joined(separator: " and ")
    for method in Self.methods
    where !allowed.contains(method) && !(method == .head && allowed.contains(.get)) {
      router.on(RouterPath(path), method: method) { request, _ -> Response in
        if let answer = origins.preflight(request, methods: allow) { return answer }
        throw HTTPRefusal(
          status: 405, code: "method-not-allowed", detail: "This path supports \(supported) only.",
          headers: [.allow: allow])
      }
    }
  }

  /// The methods that paths may have, and the representative of all others (TRACE, QUERY, ...), which no path has.
  private static let methods: [HTTPRequest.Method] = [
    .get, .head, .post, .put, .patch, .delete, .options, Self.other,
  ]
  private static let other = HTTPRequest.Method.trace

  func respond(to request: Request, context: HTTPContext) async throws -> Response {
    var response = try await answer(to: request, context: context)
    // RFC 6797 7.2: only over TLS. Without subdomains, which may belong to others.
    if isSecure, isStrict(request.head.authority) { response.headers[.strictTransportSecurity] = "max-age=31536000" }
    return response
  }

  private func answer(to request: Request, context: HTTPContext) async throws -> Response {
    var context = context
    context.isSecure = isSecure
    context.proxies = proxies
    context.refusals = refusals
    context.downloads = downloads
    // RFC 9112 3.2; `HostHandler` has checked the field.
    if request.head.authority == "" {
      let refusal = HTTPRefusal(
        status: 400, code: "host-malformed",
        detail: "A request has one Host: a name or an address, and perhaps a port.")
      let response = context.refuse(request, refusal)
      return request.method == .head ? response.createHeadResponse() : response
    }
    var request = request
    if !Self.methods.contains(request.method) {
      var head = request.head
      head.method = Self.other
      request = Request(head: head, body: request.body)
    }
    let response = origins.answer(request, with: try await routed(request, context))
    // RFC 9110 9.3.2: no content, not even of a refusal: a client would take it for the next response.
    return request.method == .head ? response.createHeadResponse() : response
  }

  /// Answers a request, within a span if the server traces. The span's name is the route, not the path, which may contain
  /// anything.
  private func routed(_ request: Request, _ context: HTTPContext) async throws -> Response {
    guard let traces else { return try await router.respond(to: request, context: context) }
    var parent = ServiceContext.topLevel
    traces.tracer.extract(request.headers, into: &parent, using: FieldExtractor())
    let span = traces.start(request.method.rawValue, .server, in: parent)
    defer { span.end() }
    let response = try await ServiceContext.$current.withValue(span.context) {
      try await router.respond(to: request, context: context)
    }
    guard span.isRecording else { return response }
    if let route = context.endpointPath {
      span.operationName += " \(route)"
      span.attributes["http.route"] = route
    }
    span.attributes["http.request.method"] = request.method.rawValue
    span.attributes["http.response.status_code"] = Int(response.status.code)
    span.attributes["parley.request_id"] = context.id
    if response.status.code >= 500 { span.setStatus(SpanStatus(code: .error)) }
    return response
  }

  private struct FieldExtractor: Extractor {
    func extract(key: String, from fields: HTTPFields) -> String? { HTTPField.Name(key).flatMap { fields[$0] } }
  }

  /// Answers errors thrown by sites, and by Hummingbird for an unknown route; admits the downloads of all sites.
  private struct Refusals: RouterMiddleware {
    /// The answers of sites at paths without a route.
    let otherwise: [@Sendable (Request, HTTPContext) async throws -> Response?]

    func handle(
      _ request: Request, context: HTTPContext, next: (Request, HTTPContext) async throws -> Response
    ) async throws -> Response {
      do {
        do {
          return context.admit(try await next(request, context), to: request)
        } catch let error as any HTTPResponseError where error.status == .notFound {
          if [.get, .head].contains(request.method) {
            for site in otherwise {
              if let response = try await site(request, context) { return context.admit(response, to: request) }
            }
          }
          throw error
        }
      } catch let refusal as HTTPRefusal {
        return context.refuse(request, refusal)
      } catch let error as any HTTPResponseError {
        return context.refuse(request, Self.refusal(Int(error.status.code)))
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
