import Dialogs
import Synchronization

/// Buckets of one class by key. Bounded: full buckets are forgotten when there
/// are too many, for a new one is the same.
final class RateLimiter<Key: Hashable & Sendable>: Sendable {
  private let rate: Rate
  private let code: String
  private let text: String
  private let buckets = Mutex<[Key: TokenBucket]>([:])

  /// `code` and `text` of the refusal.
  init(_ rate: Rate, code: String, text: String) {
    self.rate = rate
    self.code = code
    self.text = text
  }

  /// Takes one, or refuses.
  func take(_ key: Key, now: Timestamp) throws(Problem) {
    let wait: Int? = buckets.withLock { buckets in
      if buckets[key] == nil, buckets.count >= AppLimits.bucketsMax {
        for (key, bucket) in buckets {
          var bucket = bucket
          if bucket.isFull(rate, now: now) { buckets[key] = nil }
        }
        if buckets.count >= AppLimits.bucketsMax { buckets = [:] }
      }
      return buckets[key, default: TokenBucket(rate, now: now)].take(rate, now: now)
    }
    if let wait { throw Problem(.tooFast, code, text, retryAfter: wait) }
  }
}
