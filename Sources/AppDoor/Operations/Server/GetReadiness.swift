import Dialogs
import HTTPPort

/// Returns whether the server takes new clients (`Health`), for load balancers. It is never rate-limited.
enum GetReadiness: ServedOperation {
  typealias Input = NoInput
  typealias Output = HealthBody
  static let name = "readiness.get"
  static let method = Method.get
  static let path = "/readyz"
  static let rate = OperationRate.none
  static let needsCaller = false

  static func perform(_ input: NoInput, _ call: RequestContext) async throws(Problem) -> Outcome<HealthBody> {
    try await Health(call.parley).checkReady()
    return .ok(HealthBody())
  }
}
