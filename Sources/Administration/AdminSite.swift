import Accounts
import Addresses
import AppDoor
import AppProtocol
import Basics
import Dialogs
package import HTTPPort
import HTTPTypes
import Hummingbird
package import Logging
import NIOCore
import Synchronization

/// The operations as HTTP routes for backends: `/v1/admin/...` with an app key. A key's access is limited to its realm
/// and its scopes; every call is written to the audit log before it is answered.
package struct AdminSite: Sendable {
  private let admin: AdminContext
  private let logger: Logger
  private let paces: Paces

  package init(_ admin: AdminContext, logger: Logger) {
    self.admin = admin
    self.logger = logger
    paces = Paces()
  }

  package var site: HTTPSite {
    var routes: [HTTPRoute] = []
    for operation in AdminOperations.all {
      for route in operation.routes {
        routes.append(
          HTTPRoute(HTTPRequest.Method(route.method), route.path) { request, context in
            try await RateLog.told { _ in try await answer(operation, route, request, context) }
          })
      }
    }
    return HTTPSite(routes: routes)
  }

  private func answer(
    _ operation: any AdminOperation.Type, _ route: AdminRoute, _ request: Request, _ context: HTTPContext
  ) async throws -> Response {
    let key: AppKey
    do throws(Problem) {
      key = try await caller(request, context)
    } catch {
      return respond(error, context)
    }
    let outcome: (status: Int, response: Response)
    do {
      try paces.take(key: key.id, now: admin.parley.clock.now)
      guard key.scopes.contains(route.scope) else {
        throw Problem(
          .forbidden, "scope-missing", "The key \(key.name) lacks the scope \(route.scope.rawValue).", field: "scope")
      }
      guard let realm = admin.parley.realms.first(where: { $0.id == key.realm }) else {
        throw Problem(.unauthenticated, "key-invalid", "The key is not valid.")
      }
      let (json, parameters) = try await input(of: request, route, context)
      let bytes = try await perform(operation, json, parameters, admin.within(realm))
      outcome = (bytes == nil ? 204 : route.status, response(bytes, route.status))
    } catch let problem as Problem {
      outcome = (AdminOperations.status(of: problem.kind), respond(problem, context))
    } catch let refusal as HTTPRefusal {
      try await note(operation, request, refusal.status, key)
      throw refusal
    }
    do throws(Problem) {
      try await note(operation, request, outcome.status, key)
    } catch {
      // A call that is not in the audit log is not acknowledged.
      return respond(error, context)
    }
    return outcome.response
  }

  private func note(
    _ operation: any AdminOperation.Type, _ request: Request, _ status: Int, _ key: AppKey
  ) async throws(Problem) {
    try await admin.accounts.note(operation.name, target: request.uri.path, status: status, by: key)
  }

  private func caller(_ request: Request, _ context: HTTPContext) async throws(Problem) -> AppKey {
    let now = admin.parley.clock.now
    let address = context.peer(of: request).address
    // RFC 6750 2.1.
    let parts = (request.headers[.authorization] ?? "").split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else {
      try paces.take(address: address, now: now)
      throw Problem(.unauthenticated, "key-missing", "Send an app key: Authorization: Bearer parley_...")
    }
    do throws(Problem) {
      return try await admin.accounts.appKey(secret: String(parts[1]))
    } catch {
      try paces.take(address: address, now: now)
      throw error
    }
  }

  private func input(
    of request: Request, _ route: AdminRoute, _ context: HTTPContext
  ) async throws -> (JSONValue, [String: String]) {
    var json = JSONValue.object([])
    var parameters: [String: String] = [:]
    switch route.method {
    case .get, .delete:
      for (name, value) in request.uri.queryParameters { parameters[String(name)] = String(value) }
    case .post, .put, .patch:
      let body = try await body(of: request)
      if !body.isEmpty {
        do throws(JSONError) { json = try JSONValue(parsing: body) } catch {
          throw Problem(.malformed, "json-malformed", "\(error.reason), at byte \(error.offset).")
        }
        guard case .object = json else {
          throw Problem(.malformed, "input-malformed", "The body must be a JSON object.")
        }
      }
    }
    for (name, value) in route.defaults where parameters[name] == nil && json[name] == nil { parameters[name] = value }
    for name in route.pathParameters {
      guard let value = context.parameters.get(name).flatMap({ PercentEncoding.decode($0) }) else {
        throw Problem(.malformed, "path-malformed", "The path's \(name) is not percent-encoded UTF-8.", field: name)
      }
      parameters[name] = value
    }
    parameters.merge(route.fixed) { $1 }
    return (json, parameters)
  }

  private func body(of request: Request) async throws -> [UInt8] {
    do {
      return Array(try await request.body.collect(upTo: AdminLimits.bodyBytesMax).readableBytesView)
    } catch is NIOTooManyBytesError {
      throw HTTPRefusal(
        status: 413, code: "body-too-large",
        detail: "The body of this request has at most \(AdminLimits.bodyBytesMax) bytes.")
    }
  }

  /// Returns the output as JSON; nil if it is empty.
  private func perform<Operation: AdminOperation>(
    _ operation: Operation.Type, _ json: JSONValue, _ parameters: [String: String], _ admin: AdminContext
  ) async throws -> [UInt8]? {
    let input: Operation.Input
    do throws(InputError) {
      input = try InputDecoder.decode(Operation.Input.self, from: json, parameters: parameters)
    } catch {
      let text = error.path.isEmpty ? "\(error.text)." : "\(error.path) \(error.text)."
      throw Problem(.malformed, "input-malformed", text, field: error.path.isEmpty ? nil : error.path)
    }
    let output = try await operation.perform(input, in: admin)
    return output is Empty ? nil : try AdminJSON.encode(output)
  }

  private func response(_ bytes: [UInt8]?, _ status: Int) -> Response {
    guard let bytes else { return Response(status: .noContent, headers: [.cacheControl: "no-store"]) }
    return Response(
      status: HTTPResponse.Status(code: status),
      headers: [.contentType: "application/json", .cacheControl: "no-store"],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
  }

  private func respond(_ problem: Problem, _ context: HTTPContext) -> Response {
    var headers: HTTPFields = [:]
    RateLog.current?.note(problem)
    if let seconds = problem.retryAfter { headers[.retryAfter] = "\(seconds)" }
    if problem.kind == .unauthenticated { headers[.wwwAuthenticate] = "Bearer" }
    if problem.kind == .internal {
      logger.error("an admin request failed", metadata: ["request": "\(context.id)", "code": "\(problem.code)"])
    }
    let status = AdminOperations.status(of: problem.kind)
    return Response(
      ProblemBody(
        title: Titles.title(status), status: status, detail: problem.text, code: problem.code, field: problem.field,
        retryAfter: problem.retryAfter, requestId: context.id), headers: headers)
  }

  /// The rates of calls per key, and per address without a key.
  private final class Paces: Sendable {
    private struct State {
      var keys: [Int64: TokenBucket] = [:]
      var addresses: [String: TokenBucket] = [:]
    }
    private let state = Mutex(State())

    func take(key: Int64, now: Timestamp) throws(Problem) {
      try Self.refuse(
        state.withLock { state in
          // There are at most as many entries as keys.
          Self.take(
            AdminLimits.keyRate, "key",
            from: &state.keys[key, default: TokenBucket(AdminLimits.keyRate, now: now)], now: now)
        }, "This key calls too often. Wait a little.")
    }

    func take(address: String, now: Timestamp) throws(Problem) {
      try Self.refuse(
        state.withLock { state in
          if state.addresses[address] == nil, state.addresses.count >= AdminLimits.keylessAddressesMax {
            state.addresses = [:]
          }
          return Self.take(
            AdminLimits.keylessRate, "address",
            from: &state.addresses[address, default: TokenBucket(AdminLimits.keylessRate, now: now)], now: now)
        }, "Too many requests from your address. Wait a little.")
    }

    private static func take(
      _ rate: Rate, _ policy: String, from bucket: inout TokenBucket, now: Timestamp
    ) -> Int? {
      let wait = bucket.take(rate, now: now)
      RateLog.current?.note(bucket.standing(policy, rate, now: now), refused: wait != nil)
      return wait
    }

    private static func refuse(_ wait: Int?, _ text: String) throws(Problem) {
      if let wait { throw Problem(.tooFast, "requests-too-fast", text, retryAfter: wait) }
    }
  }
}

extension HTTPRequest.Method {
  fileprivate init(_ method: AppProtocol.Method) {
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
