public import Dialogs
public import ServerMetrics
import Synchronization

/// The requests of logged-in users that are under way at the HTTP ports. They are bounded by user: connections with complete
/// requests are not closed for others, so without a bound one user could hold all connections of the server.
public final class RequestsUnderWay: Sendable {
  private let metrics: Metrics
  private let counts = Mutex<[UserID: Int]>([:])

  public init(metrics: Metrics) { self.metrics = metrics }

  /// The number of requests of a user.
  func count(_ user: UserID) -> Int { counts.withLock { $0[user] ?? 0 } }

  /// Notes that a request is one of a logged-in user (`HTTPContext.noteLogin`), or refuses it.
  ///
  /// - Returns: A reference, for whose life the request counts. Its connection keeps it until the response or the connection has ended.
  ///   A handler that may continue after the end of the connection must keep it, too.
  @discardableResult
  public func begin(_ context: HTTPContext, of user: UserID) throws(Problem) -> RequestUnderWay {
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
    let request = RequestUnderWay(self, of: user)
    context.noteLogin { withExtendedLifetime(request) {} }
    return request
  }

  fileprivate func end(_ user: UserID) {
    counts.withLock { counts in
      counts[user, default: 0] -= 1
      if counts[user] == 0 { counts[user] = nil }
    }
  }
}

/// A request that counts until nothing refers to it.
public final class RequestUnderWay: Sendable {
  private let requests: RequestsUnderWay
  private let user: UserID

  fileprivate init(_ requests: RequestsUnderWay, of user: UserID) {
    (self.requests, self.user) = (requests, user)
  }

  deinit { requests.end(user) }
}
