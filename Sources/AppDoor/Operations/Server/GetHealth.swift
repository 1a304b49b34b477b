import Dialogs
import HTTPPort

/// Returns whether the server works: its storage answers and it accepts posts. It is for load balancers and containers,
/// and never rate-limited.
enum GetHealth: ServedOperation {
  typealias Input = NoInput
  typealias Output = HealthBody
  static let name = "health.get"
  static let method = Method.get
  static let path = "/healthz"
  static let rate = OperationRate.none
  static let needsCaller = false

  static func perform(_ input: NoInput, _ call: RequestContext) async throws(Problem) -> Outcome<HealthBody> {
    if call.parley.isFull { throw Problem.overloaded }
    do throws(Problem) {
      _ = try await call.parley.read { try $0.head() }
    } catch {
      throw Problem(.overloaded, error.code, error.text, retryAfter: error.retryAfter ?? 5)
    }
    return .ok(HealthBody())
  }
}
