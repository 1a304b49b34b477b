import Dialogs
import HTTPPort

/// Returns whether the server works (`Health`), for supervisors. It is never rate-limited.
enum GetHealth: ServedOperation {
  typealias Input = NoInput
  typealias Output = HealthBody
  static let name = "health.get"
  static let method = Method.get
  static let path = "/healthz"
  static let rate = OperationRate.none
  static let needsCaller = false

  static func perform(_ input: NoInput, _ call: RequestContext) async throws(Problem) -> Outcome<HealthBody> {
    try await Health(call.parley).checkWorking()
    return .ok(HealthBody())
  }
}
