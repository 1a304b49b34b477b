public import Basics
import Synchronization

/// How far a rate is drawn on: what whoever spends it is told before it is spent.
public struct RateStanding: Hashable, Sendable {
  /// What clients know the rate by.
  public let policy: String
  /// What is there at once; nil: only that it refused is known.
  public let quota: Int?
  /// Whole seconds in which a spent one is full again.
  public let window: Int?
  /// What is counted, where that is not requests.
  public let unit: String?
  public var remaining: Int
  /// Whole seconds until there is more; nil: it is full.
  public let reset: Int?
  /// So many acts like this one are left.
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

/// The rates that one request has drawn on.
///
/// Rates are taken deep in the core, by operations that answer something else; a door that tells them binds `current`
/// around the request. Where nobody does, nothing is noted.
public final class RateLog: Sendable {
  @TaskLocal public static var current: RateLog?

  private struct State {
    var standings: [RateStanding] = []
    var refused: RateStanding?
  }
  private let state = Mutex(State())

  public init() {}

  /// A rate was drawn on, or, `refused`, would have been.
  public func note(_ standing: RateStanding, refused: Bool = false) {
    state.withLock { state in
      if refused { state.refused = standing }
      state.standings.removeAll { $0.policy == standing.policy }
      state.standings.append(standing)
    }
  }

  /// What was taken turned out not to count.
  package func giveBack(_ policy: String) {
    state.withLock { state in
      guard let index = state.standings.firstIndex(where: { $0.policy == policy }) else { return }
      let standing = state.standings[index]
      state.standings[index].remaining = min(standing.remaining + 1, standing.quota ?? .max)
    }
  }

  /// The request was refused. What is no bucket (a room's slow mode, a day's quota) is known by the refusal alone.
  public func note(_ problem: Problem) {
    guard problem.kind == .tooFast, let wait = problem.retryAfter else { return }
    state.withLock { state in
      guard state.refused == nil else { return }
      state.refused = RateStanding(policy: problem.code, remaining: 0, reset: wait)
    }
  }

  /// The rate that refused, else the one that will refuse first.
  public var tightest: RateStanding? {
    state.withLock { state in
      state.refused ?? state.standings.min { ($0.further, -($0.reset ?? 0)) < ($1.further, -($1.reset ?? 0)) }
    }
  }
}

extension TokenBucket {
  /// How it stands, after taking or refusing `count`.
  public mutating func standing(
    _ policy: String, _ rate: Rate, count: Int = 1, unit: String? = nil, now: Timestamp
  ) -> RateStanding {
    let remaining = whole(rate, now: now)
    let next = max(count > remaining ? count : 0, remaining + 1)
    return RateStanding(
      policy: policy, quota: rate.burst,
      window: rate.perSecond > 0 ? max(1, Int((Double(rate.burst) / rate.perSecond).rounded(.up))) : nil, unit: unit,
      remaining: remaining, reset: remaining >= rate.burst ? nil : wait(rate, count: next, now: now), count: count)
  }
}
