public import Basics

/// A rate: `burst` at once, `perSecond` in the long run.
public struct Rate: Sendable {
  public var burst: Int
  public var perSecond: Double
  public init(burst: Int, perSecond: Double) {
    self.burst = burst
    self.perSecond = perSecond
  }

  /// Returns the rate multiplied by a number.
  func times(_ count: Int) -> Rate { Rate(burst: burst * count, perSecond: perSecond * Double(count)) }

  /// Returns the rate, with at least as much at once and per second as another one.
  func atLeast(_ other: Rate) -> Rate {
    Rate(burst: max(burst, other.burst), perSecond: max(perSecond, other.perSecond))
  }
}

/// A token bucket: `burst` at once, `perSecond` in the long run. Pure.
public struct TokenBucket: Hashable, Sendable {
  private var tokens: Double
  private var time: Timestamp

  public init(_ rate: Rate, now: Timestamp) {
    tokens = Double(rate.burst)
    time = now
  }

  private mutating func fill(_ rate: Rate, now: Timestamp) {
    let elapsed = now.milliseconds - time.milliseconds
    // Threads may get here in another order than they read the clock. Each span of time gives tokens only once.
    if elapsed < 0, elapsed > -1_000 { return }
    // A clock that is set back neither adds nor removes tokens.
    tokens = min(Double(rate.burst), tokens + Double(max(0, elapsed)) / 1_000 * rate.perSecond)
    time = now
  }

  /// Takes tokens. Returns `nil` if they were taken, otherwise the whole seconds to wait.
  ///
  /// - Parameter count: the number to take together; there are never more than `rate.burst`.
  public mutating func take(_ rate: Rate, count: Int = 1, now: Timestamp) -> Int? {
    if let wait = wait(rate, count: count, now: now) { return wait }
    tokens -= Double(count)
    return nil
  }

  /// Returns a token to the bucket, for a use that does not count after all.
  public mutating func giveBack(_ rate: Rate, now: Timestamp) {
    fill(rate, now: now)
    tokens = min(Double(rate.burst), tokens + 1)
  }

  /// Takes tokens even if there are none, which makes a debt. A negative number returns tokens.
  package mutating func owe(_ rate: Rate, count: Int = 1, now: Timestamp) {
    fill(rate, now: now)
    tokens = min(Double(rate.burst), tokens - Double(count))
  }

  /// Returns the whole seconds until there are enough tokens; `nil` if there are now.
  public mutating func wait(_ rate: Rate, count: Int = 1, now: Timestamp) -> Int? {
    fill(rate, now: now)
    let needed = Double(count)
    if tokens >= needed { return nil }
    guard rate.perSecond > 0 else { return 3_600 }
    return max(1, Int(min(3_600, ((needed - tokens) / rate.perSecond).rounded(.up))))
  }

  /// Returns the time until a debt is paid off; `nil` if there is none.
  package mutating func debt(_ rate: Rate, now: Timestamp) -> Duration? {
    fill(rate, now: now)
    if tokens >= 0 { return nil }
    guard rate.perSecond > 0 else { return .seconds(3_600) }
    return .milliseconds(Int64(min(3_600_000, (-tokens / rate.perSecond * 1_000).rounded(.up))))
  }

  /// Returns the number of tokens that can be taken now.
  mutating func whole(_ rate: Rate, now: Timestamp) -> Int {
    fill(rate, now: now)
    return max(0, Int(tokens))
  }

  public mutating func isFull(_ rate: Rate, now: Timestamp) -> Bool {
    fill(rate, now: now)
    return tokens >= Double(rate.burst)
  }
}
