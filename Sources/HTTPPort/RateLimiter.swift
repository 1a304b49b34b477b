public import Basics
public import Dialogs
import Synchronization

/// Buckets of one class by key. Bounded: full buckets are forgotten when there
/// are too many, for a new one is the same.
public final class RateLimiter<Key: Hashable & Sendable>: Sendable {
  private let rate: Rate
  private let policy: String
  private let code: String
  private let text: String
  private let buckets = Mutex<[Key: TokenBucket]>([:])

  /// `policy`: what clients know the rate by; `code` and `text` of the refusal.
  public init(_ rate: Rate, policy: String, code: String, text: String) {
    self.rate = rate
    self.policy = policy
    self.code = code
    self.text = text
  }

  /// Takes one, or refuses.
  ///
  /// - Parameter log: who is told how far the rate is drawn on. Nobody asks on a socket.
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
      if let log, let standing = buckets[key]?.standing(policy, rate, now: now) {
        log.note(standing, refused: wait != nil)
      }
      return wait
    }
    if let wait { throw Problem(.tooFast, code, text, retryAfter: wait) }
  }
}
