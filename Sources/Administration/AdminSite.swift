import Accounts
import AppDoor
import Basics
import Dialogs
package import HTTPPort
import HTTPTypes
import Hummingbird
import JSON

/// The operations over HTTP, with an app key or an administrator's access token: as routes for backends, `/v1/admin/...`,
/// and all of them by their names for commands elsewhere and for the page of administrators,
/// `/v1/admin/operations/...`. Access is limited to one realm and to scopes; every call, also one that only reads, is in
/// the audit before it is answered.
package struct AdminSite: Sendable {
  private let admin: AdminContext
  private let callerRate: RateLimiter<AdminCaller.Counted>
  private let addressRate: RateLimiter<String>
  /// The requests of administrators; those of keys have no bound, as an operator gave the keys to programs of their own.
  private let underWay: RequestsUnderWay

  package init(_ admin: AdminContext) {
    self.admin = admin
    let metrics = admin.parley.metrics
    underWay = RequestsUnderWay(metrics: metrics)
    callerRate = RateLimiter(
      AdminLimits.keyRate, policy: "key", code: "requests-too-fast",
      text: "This key or administrator calls too often. Wait a little.", metrics: metrics)
    addressRate = RateLimiter(
      AdminLimits.keylessRate, policy: "address", code: "requests-too-fast",
      text: "Too many requests from your address. Wait a little.", metrics: metrics)
  }

  package var site: HTTPSite {
    var routes: [HTTPRoute] = []
    for operation in AdminOperations.all {
      for route in operation.routes {
        routes.append(
          OperationRunner.route(route.method, route.path) { try await answer(operation, route, $0, $1, $2) })
      }
    }
    routes.append(
      OperationRunner.route(.post, AdminRoute.named.path) { request, context, rates in
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
    let caller = try await caller(request, context, rates)
    var object = request.uri.path
    func note(_ status: Int, _ code: String = "") async throws(Problem) {
      try await admin.accounts.note(operation.name, on: object, by: caller.actor, status: status, code: code)
    }
    let response: Response
    do {
      try callerRate.take(caller.counted, now: admin.parley.clock.now, telling: rates)
      let within = admin.within(caller)
      try within.require(route.scope, for: operation.name)
      var input = try await OperationInput(
        request, context, route.method, pathParameters: route.pathParameters,
        bytesMax: route.bytesMax)
      for (name, value) in route.defaults where input.parameters[name] == nil && input.json[name] == nil {
        input.parameters[name] = value
      }
      input.parameters.merge(route.fixed) { $1 }
      let call = try prepare(operation, input)
      if !call.object.isEmpty { object = call.object }
      let (bytes, finalObject) = try await call.perform(within)
      if !finalObject.isEmpty { object = finalObject }
      response = OperationRunner.response(route.status, bytes)
      // A call that is not in the audit is not acknowledged. The figures that an administrator's page asks for again and
      // again are about nobody, and would be all that is in it.
      let isFigure = caller.counted.isAdministrator && operation.isReading && route.scope == .server
      if !isFigure { try await note(bytes == nil ? 204 : route.status) }
    } catch let problem as Problem {
      try await note(problem.kind.status, problem.code)
      return OperationRunner.response(problem, to: request, context)
    } catch let refusal as HTTPRefusal {
      try await note(refusal.status, refusal.code)
      throw refusal
    }
    return response
  }

  private func caller(
    _ request: Request, _ context: HTTPContext, _ rates: RateLog
  ) async throws(Problem) -> AdminCaller {
    let now = admin.parley.clock.now
    let address = context.peer(of: request).address
    let caller: AdminCaller
    do throws(Problem) {
      guard let secret = OperationRunner.bearer(request) else {
        throw Problem(
          .unauthenticated, "key-missing",
          "Send an app key or an administrator's access token: Authorization: Bearer parley_...")
      }
      caller = try await admin.caller(secret, from: address)
    } catch {
      try addressRate.take(address, now: now, telling: rates)
      throw error
    }
    switch caller.counted {
    case .key: context.noteLogin()
    case .administrator(let user): try underWay.begin(context, of: user)
    }
    return caller
  }

  /// A call whose input was read.
  private struct Call: Sendable {
    let object: String
    /// Performs it, and returns the output as JSON, nil if it is empty, and the object that is known then.
    let perform: @Sendable (AdminContext) async throws -> (bytes: [UInt8]?, object: String)
  }

  private func prepare<Operation: AdminOperation>(
    _ operation: Operation.Type, _ input: OperationInput
  ) throws(Problem) -> Call {
    // What a backend sends is meant: a message whose `sentAt` were ignored would have the date of today.
    let input = try input.decodeStrictly(Operation.Input.self)
    return Call(object: operation.object(of: input)) { admin in
      // It is in the audit as every call with a key, and not a second time as an act.
      let output = try await operation.perform(input, in: admin)
      let object = operation.object(of: input, after: output)
      return (output is Empty ? nil : try AdminJSON.encode(output), object)
    }
  }
}
