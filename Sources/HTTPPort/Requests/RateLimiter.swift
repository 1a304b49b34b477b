public import Basics
public import Dialogs
public import ServerMetrics
import Synchronization

/// Token buckets of one class by key. Their number is bounded: when there are too many, full buckets are removed, as they
/// equal new ones.
public final class RateLimiter<Key: Hashable & Sendable>: Sendable {
  private let rate: Rate
  private let policy: String
  private let code: String
  private let text: String
  private let metrics: Metrics
  private let buckets = Mutex<[Key: TokenBucket]>([:])

  /// Creates a limiter. `policy` is the rate's name for clients; `code` and `text` are those of the refusal.
  public init(_ rate: Rate, policy: String, code: String, text: String, metrics: Metrics) {
    self.rate = rate
    self.metrics = metrics
    self.policy = policy
    self.code = code
    self.text = text
  }

  /// Takes a token, or throws the refusal.
  ///
  /// - Parameter log: the log that reports the rate's state to the client; a socket has none.
  public func take(_ key: Key, now: Timestamp, telling log: RateLog? = nil) throws(Problem) {
    let wait: Int? = buckets.withLock { buckets in
      if buckets.count >= HTTPLimits.bucketsMax, buckets[key] == nil {
        for (key, bucket) in buckets {
          var bucket = bucket
          if bucket.isFull(rate, now: now) { buckets[key] = nil }
        }
        if buckets.count >= HTTPLimits.bucketsMax { buckets = [:] }
      }
      let wait = buckets[key, default: TokenBucket(rate, now: now)].take(rate, now: now)
      if let log, let status = buckets[key]?.status(policy, rate, now: now) {
        log.note(status, refused: wait != nil)
      }
      return wait
    }
    if let wait {
      metrics.refused(by: policy)
      throw Problem(.tooFast, code, text, retryAfter: wait)
    }
  }
}
