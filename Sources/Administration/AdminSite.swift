import Accounts
import AppDoor
import Basics
import Dialogs
package import HTTPPort
import HTTPTypes
import Hummingbird
import JSON
package import Logging

/// The operations over HTTP, with an app key: as routes for backends, `/v1/admin/...`, and all of them by their names for
/// commands elsewhere, `/v1/admin/operations/...`. A key's access is limited to its realm and its scopes; every call, also
/// one that only reads, is in the audit before it is answered.
package struct AdminSite: Sendable {
  private let admin: AdminContext
  private let runner: OperationRunner
  private let keyRate: RateLimiter<Int64>
  private let addressRate: RateLimiter<String>

  package init(_ admin: AdminContext, logger: Logger) {
    self.admin = admin
    let metrics = admin.parley.metrics
    keyRate = RateLimiter(
      AdminLimits.keyRate, policy: "key", code: "requests-too-fast", text: "This key calls too often. Wait a little.",
      metrics: metrics)
    addressRate = RateLimiter(
      AdminLimits.keylessRate, policy: "address", code: "requests-too-fast",
      text: "Too many requests from your address. Wait a little.", metrics: metrics)
    runner = OperationRunner(logger: logger)
  }

  package var site: HTTPSite {
    var routes: [HTTPRoute] = []
    for operation in AdminOperations.all {
      for route in operation.routes {
        routes.append(
          runner.route(route.method, route.path) { try await answer(operation, route, $0, $1, $2) })
      }
    }
    routes.append(
      runner.route(.post, AdminRoute.named.path) { request, context, rates in
        let name = context.parameters.get("operation") ?? ""
        guard let operation = AdminOperations.named(name) else {
          _ = try await caller(request, context, rates)
          throw Problem(.missing, "operation-unknown", "There is no operation \(Line.safe(name)).")
        }
        return try await answer(operation, .named(operation), request, context, rates)
      })
    return HTTPSite(routes: routes)
  }

  private func answer(
    _ operation: any AdminOperation.Type, _ route: AdminRoute, _ request: Request, _ context: HTTPContext,
    _ rates: RateLog
  ) async throws -> Response {
    let key = try await caller(request, context, rates)
    let actor = AuditActor(key, from: context.peer(of: request).address)
    var object = request.uri.path
    func note(_ status: Int, _ code: String = "") async throws(Problem) {
      try await admin.accounts.note(operation.name, on: object, by: actor, status: status, code: code)
    }
    let response: Response
    do {
      try keyRate.take(key.id, now: admin.parley.clock.now, telling: rates)
      guard let scope = route.scope else {
        throw Problem(
          .forbidden, "operation-local",
          "\(operation.name) is performed on the server's own machine only, without a key.")
      }
      guard key.scopes.contains(scope) else {
        throw Problem(
          .forbidden, "scope-missing", "The key \(key.name) lacks the scope \(scope.rawValue).", field: "scope")
      }
      guard let realm = admin.parley.realms.first(where: { $0.id == key.realm }) else {
        throw Problem(.unauthenticated, "key-invalid", "The key is not valid.")
      }
      if scope.isOfServer, let first = admin.parley.realms.first, realm.id != first.id {
        throw Problem(
          .forbidden, "key-of-another-domain",
          "The scope \(scope.rawValue) is about the whole server: use a key of \(first.domain).", field: "scope")
      }
      var input = try await OperationInput(
        request, context, route.method, pathParameters: route.pathParameters,
        bytesMax: route.bytesMax)
      for (name, value) in route.defaults where input.parameters[name] == nil && input.json[name] == nil {
        input.parameters[name] = value
      }
      input.parameters.merge(route.fixed) { $1 }
      let call = try prepare(operation, input)
      if !call.object.isEmpty { object = call.object }
      let bytes = try await call.perform(admin.within(realm, scopes: key.scopes))
      response = OperationRunner.response(route.status, bytes)
      // A call that is not in the audit is not acknowledged.
      try await note(bytes == nil ? 204 : route.status)
    } catch let problem as Problem {
      try await note(problem.kind.status, problem.code)
      return runner.response(problem, to: request, context)
    } catch let refusal as HTTPRefusal {
      try await note(refusal.status, refusal.code)
      throw refusal
    }
    return response
  }

  private func caller(
    _ request: Request, _ context: HTTPContext, _ rates: RateLog
  ) async throws(Problem) -> AppKey {
    let now = admin.parley.clock.now
    let address = context.peer(of: request).address
    guard let secret = OperationRunner.bearer(request) else {
      try addressRate.take(address, now: now, telling: rates)
      throw Problem(.unauthenticated, "key-missing", "Send an app key: Authorization: Bearer parley_...")
    }
    do throws(Problem) {
      return try await admin.accounts.appKey(secret: secret)
    } catch {
      try addressRate.take(address, now: now, telling: rates)
      throw error
    }
  }

  /// A call whose input was read.
  private struct Call: Sendable {
    let object: String
    /// Performs it, and returns the output as JSON; nil if it is empty.
    let perform: @Sendable (AdminContext) async throws -> [UInt8]?
  }

  private func prepare<Operation: AdminOperation>(
    _ operation: Operation.Type, _ input: OperationInput
  ) throws(Problem) -> Call {
    let input = try input.decode(Operation.Input.self)
    return Call(object: operation.object(of: input)) { admin in
      // It is in the audit as every call with a key, and not a second time as an act.
      let output = try await operation.perform(input, in: admin)
      return output is Empty ? nil : try AdminJSON.encode(output)
    }
  }
}
