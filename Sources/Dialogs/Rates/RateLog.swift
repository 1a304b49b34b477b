public import Basics
import Synchronization

/// The state of a rate, reported to a client so that it can avoid refusals.
public struct RateLimitStatus: Hashable, Sendable {
  /// The rate's name for clients.
  public let policy: String
  /// The burst; `nil` if only a refusal is known.
  public let quota: Int?
  /// The whole seconds in which a spent bucket is full again.
  public let window: Int?
  /// The counted unit, if it is not requests.
  public let unit: String?
  public var remaining: Int
  /// The whole seconds until more is available; `nil` if it is full.
  public let reset: Int?
  /// The number of further acts of the same cost.
  public var further: Int { remaining / count }
  private let count: Int

  public init(
    policy: String, quota: Int? = nil, window: Int? = nil, unit: String? = nil, remaining: Int, reset: Int?,
    count: Int = 1
  ) {
    self.policy = policy
    self.quota = quota
    self.window = window
    self.unit = unit
    self.remaining = remaining
    self.reset = reset
    self.count = max(1, count)
  }
}

/// The rates that one request has used.
///
/// Rates are checked deep in the core, by operations that return other results. A door that reports rates binds `current`
/// around the request; otherwise nothing is recorded.
public final class RateLog: Sendable {
  @TaskLocal public static var current: RateLog?

  private struct State {
    var statuses: [RateLimitStatus] = []
    var refused: RateLimitStatus?
  }
  private let state = Mutex(State())

  public init() {}

  /// Records a use of a rate, or a refused use.
  public func note(_ status: RateLimitStatus, refused: Bool = false) {
    state.withLock { state in
      if refused { state.refused = status }
      state.statuses.removeAll { $0.policy == status.policy }
      state.statuses.append(status)
    }
  }

  /// Removes a use that does not count after all.
  package func giveBack(_ policy: String) {
    state.withLock { state in
      guard let index = state.statuses.firstIndex(where: { $0.policy == policy }) else { return }
      let status = state.statuses[index]
      state.statuses[index].remaining = min(status.remaining + 1, status.quota ?? .max)
    }
  }

  /// Records a refusal. A rate without a bucket (a room's slow mode, a day's quota) is reported only when it refuses.
  public func note(_ problem: Problem) {
    guard problem.kind == .tooFast, let wait = problem.retryAfter else { return }
    state.withLock { state in
      guard state.refused == nil else { return }
      state.refused = RateLimitStatus(policy: problem.code, remaining: 0, reset: wait)
    }
  }

  /// The rate that refused; otherwise the one that will refuse first.
  public var tightest: RateLimitStatus? {
    state.withLock { state in
      state.refused ?? state.statuses.min { ($0.further, -($0.reset ?? 0)) < ($1.further, -($1.reset ?? 0)) }
    }
  }
}

extension TokenBucket {
  /// Returns the state of the bucket, after taking or refusing `count`.
  public mutating func status(
    _ policy: String, _ rate: Rate, count: Int = 1, unit: String? = nil, now: Timestamp
  ) -> RateLimitStatus {
    let remaining = whole(rate, now: now)
    let next = max(count > remaining ? count : 0, remaining + 1)
    return RateLimitStatus(
      policy: policy, quota: rate.burst,
      window: rate.perSecond > 0 ? max(1, Int((Double(rate.burst) / rate.perSecond).rounded(.up))) : nil, unit: unit,
      remaining: remaining, reset: remaining >= rate.burst ? nil : wait(rate, count: next, now: now), count: count)
  }
}
