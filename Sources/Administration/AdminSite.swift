import Accounts
import AppDoor
import Basics
import Dialogs
package import HTTPPort
import HTTPTypes
import Hummingbird
import JSON
package import Logging

/// The operations as HTTP routes for backends: `/v1/admin/...` with an app key. A key's access is limited to its realm
/// and its scopes; every call is written to the audit log before it is answered.
package struct AdminSite: Sendable {
  private let admin: AdminContext
  private let runner: OperationRunner
  private let keyRate = RateLimiter<Int64>(
    AdminLimits.keyRate, policy: "key", code: "requests-too-fast", text: "This key calls too often. Wait a little.")
  private let addressRate = RateLimiter<String>(
    AdminLimits.keylessRate, policy: "address", code: "requests-too-fast",
    text: "Too many requests from your address. Wait a little.")

  package init(_ admin: AdminContext, logger: Logger) {
    self.admin = admin
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
    return HTTPSite(routes: routes)
  }

  private func answer(
    _ operation: any AdminOperation.Type, _ route: AdminRoute, _ request: Request, _ context: HTTPContext,
    _ rates: RateLog
  ) async throws -> Response {
    let key = try await caller(request, context, rates)
    let outcome: (status: Int, response: Response)
    do {
      try keyRate.take(key.id, now: admin.parley.clock.now, telling: rates)
      guard key.scopes.contains(route.scope) else {
        throw Problem(
          .forbidden, "scope-missing", "The key \(key.name) lacks the scope \(route.scope.rawValue).", field: "scope")
      }
      guard let realm = admin.parley.realms.first(where: { $0.id == key.realm }) else {
        throw Problem(.unauthenticated, "key-invalid", "The key is not valid.")
      }
      if route.scope.isOfServer, let first = admin.parley.realms.first, realm.id != first.id {
        throw Problem(
          .forbidden, "key-of-another-domain",
          "The scope \(route.scope.rawValue) is about the whole server: use a key of \(first.domain).", field: "scope")
      }
      var input = try await OperationInput(
        request, context, route.method, pathParameters: route.pathParameters,
        bytesMax: AdminLimits.bodyBytesMax)
      for (name, value) in route.defaults where input.parameters[name] == nil && input.json[name] == nil {
        input.parameters[name] = value
      }
      input.parameters.merge(route.fixed) { $1 }
      let bytes = try await perform(operation, input, admin.within(realm))
      outcome = (bytes == nil ? 204 : route.status, OperationRunner.response(route.status, bytes))
    } catch let problem as Problem {
      outcome = (problem.kind.status, runner.response(problem, to: request, context))
    } catch let refusal as HTTPRefusal {
      try await note(operation, request, refusal.status, key)
      throw refusal
    }
    // A call that is not in the audit log is not acknowledged.
    try await note(operation, request, outcome.status, key)
    return outcome.response
  }

  private func note(
    _ operation: any AdminOperation.Type, _ request: Request, _ status: Int, _ key: AppKey
  ) async throws(Problem) {
    try await admin.accounts.note(operation.name, target: request.uri.path, status: status, by: key)
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

  /// Returns the output as JSON; nil if it is empty.
  private func perform<Operation: AdminOperation>(
    _ operation: Operation.Type, _ input: OperationInput, _ admin: AdminContext
  ) async throws -> [UInt8]? {
    let output = try await operation.perform(input.decode(Operation.Input.self), in: admin)
    return output is Empty ? nil : try AdminJSON.encode(output)
  }
}
