public import Dialogs
import HTTPTypes
public import Hummingbird

extension RateLog {
  /// Answers a request, and adds the state of the tightest rate that `body` has used: the one that refused, or else the one
  /// that will refuse first.
  public static func told(_ body: (RateLog) async throws -> Response) async throws -> Response {
    let log = RateLog()
    return try await $current.withValue(log) {
      do {
        var response = try await body(log)
        response.headers.tell(log.tightest)
        return response
      } catch let refusal as HTTPRefusal {
        var headers = refusal.headers
        headers.tell(log.tightest)
        throw HTTPRefusal(status: refusal.status, code: refusal.code, detail: refusal.detail, headers: headers)
      }
    }
  }
}

extension HTTPFields {
  fileprivate mutating func tell(_ status: RateLimitStatus?) {
    guard let status else { return }
    tellRate(
      policy: status.policy, quota: status.quota, window: status.window, unit: status.unit,
      remaining: status.remaining, reset: status.reset)
  }
}
