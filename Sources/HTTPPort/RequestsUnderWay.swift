public import Dialogs
public import ServerMetrics
import Synchronization

/// The requests of logged-in users that are under way at the HTTP ports, which are bounded by user: the connections of complete
/// ones give way to nobody, so that without a bound one user could hold all connections of the server.
public final class RequestsUnderWay: Sendable {
  private let metrics: Metrics
  private let counts = Mutex<[UserID: Int]>([:])

  public init(metrics: Metrics) { self.metrics = metrics }

  /// The number of requests of a user.
  func count(_ user: UserID) -> Int { counts.withLock { $0[user] ?? 0 } }

  /// Notes that a request is one of a logged-in user (`HTTPContext.noteLogin`), or refuses it.
  public func begin(_ context: HTTPContext, of user: UserID) throws(Problem) {
    let isAdmitted: Bool = counts.withLock { counts in
      guard counts[user, default: 0] < HTTPLimits.requestsPerUserMax else { return false }
      counts[user, default: 0] += 1
      return true
    }
    guard isAdmitted else {
      metrics.refused(by: "requests")
      throw Problem(
        .tooFast, "requests-too-many", "You have as many requests under way as you may have. Wait until one has ended.",
        retryAfter: 1)
    }
    context.noteLogin { [self] in end(user) }
  }

  private func end(_ user: UserID) {
    counts.withLock { counts in
      counts[user, default: 0] -= 1
      if counts[user] == 0 { counts[user] = nil }
    }
  }
}
