import Dialogs
import Synchronization

/// A token bucket: `burst` at once, `perSecond` in the long run. Pure.
struct TokenBucket: Hashable, Sendable {
  private var tokens: Double
  private var time: Timestamp

  init(_ rate: AppRates.Rate, now: Timestamp) {
    tokens = Double(rate.burst)
    time = now
  }

  private mutating func fill(_ rate: AppRates.Rate, now: Timestamp) {
    // A clock that goes back gives nothing and takes nothing.
    let elapsed = Double(max(0, now.milliseconds - time.milliseconds)) / 1_000
    tokens = min(Double(rate.burst), tokens + elapsed * rate.perSecond)
    time = now
  }

  /// nil: taken. Else the whole seconds until there is one.
  mutating func take(_ rate: AppRates.Rate, now: Timestamp) -> Int? {
    if let wait = wait(rate, now: now) { return wait }
    tokens -= 1
    return nil
  }

  /// The whole seconds until there is one; nil: there is.
  mutating func wait(_ rate: AppRates.Rate, now: Timestamp) -> Int? {
    fill(rate, now: now)
    if tokens >= 1 { return nil }
    guard rate.perSecond > 0 else { return 3_600 }
    return max(1, Int(min(3_600, ((1 - tokens) / rate.perSecond).rounded(.up))))
  }

  /// Takes one also where there is none: a debt, of an hour at most.
  mutating func charge(_ rate: AppRates.Rate, now: Timestamp) {
    fill(rate, now: now)
    tokens = max(-3_600 * rate.perSecond, tokens - 1)
  }

  mutating func isFull(_ rate: AppRates.Rate, now: Timestamp) -> Bool {
    fill(rate, now: now)
    return tokens >= Double(rate.burst)
  }
}

/// Buckets of one class by key. Bounded: full buckets are forgotten when there
/// are too many, for a new one is the same.
final class RateLimiter<Key: Hashable & Sendable>: Sendable {
  private let rate: AppRates.Rate
  private let code: String
  private let text: String
  private let buckets = Mutex<[Key: TokenBucket]>([:])

  /// `code` and `text` of the refusal.
  init(_ rate: AppRates.Rate, code: String, text: String) {
    self.rate = rate
    self.code = code
    self.text = text
  }

  /// Takes one, or refuses.
  func take(_ key: Key, now: Timestamp) throws(Problem) {
    if let wait = change(key, now, { $0.take(rate, now: now) }) { throw refusal(wait) }
  }

  /// Refuses where there is none, and takes nothing: for what counts only when
  /// it turns out bad.
  func check(_ key: Key, now: Timestamp) throws(Problem) {
    let wait: Int? = buckets.withLock { $0[key]?.wait(rate, now: now) }
    if let wait { throw refusal(wait) }
  }

  /// It turned out bad. Attempts that ran at the same time make a debt, so that
  /// trying many at once gains nothing.
  func charge(_ key: Key, now: Timestamp) {
    change(key, now) { $0.charge(rate, now: now) }
  }

  private func refusal(_ wait: Int) -> Problem { Problem(.tooFast, code, text, retryAfter: wait) }

  @discardableResult
  private func change<Result: Sendable>(_ key: Key, _ now: Timestamp, _ body: (inout TokenBucket) -> Result) -> Result {
    buckets.withLock { buckets in
      if buckets[key] == nil, buckets.count >= AppLimits.bucketsMax {
        for (key, bucket) in buckets {
          var bucket = bucket
          if bucket.isFull(rate, now: now) { buckets[key] = nil }
        }
        if buckets.count >= AppLimits.bucketsMax { buckets = [:] }
      }
      return body(&buckets[key, default: TokenBucket(rate, now: now)])
    }
  }
}
