import Basics
public import Dialogs

extension Hook {
  public func wants(_ event: String) -> Bool {
    events.contains { Self.covers($0, event) }
  }

  /// Returns whether a pattern matches an event.
  static func covers(_ pattern: String, _ event: String) -> Bool {
    if pattern == "*" || pattern == event { return true }
    return pattern.hasSuffix(".*") && event.hasPrefix(pattern.dropLast())
  }

  /// The secrets that sign now.
  func secrets(at now: Timestamp) -> [[UInt8]] {
    guard let previousSecret, let previousUntil, now < previousUntil else { return [secret] }
    return [secret, previousSecret]
  }
}

extension Hook.Progress {
  /// Records that everything up to here was delivered.
  mutating func took(upTo position: Position, outboxEvent: Int64) {
    self = Hook.Progress(position: position, outboxEvent: outboxEvent)
  }

  /// The failure of one attempt.
  public struct Refusal: Hashable, Sendable {
    public var reason: String
    /// The seconds that the receiver asks to wait.
    public var retryAfter: Int?
    /// Whether the receiver wants no more events (RFC 9110 15.5.11: 410).
    public var isGone: Bool
    public init(_ reason: String, retryAfter: Int? = nil, isGone: Bool = false) {
      self.reason = reason
      self.retryAfter = retryAfter
      self.isGone = isGone
    }
  }

  /// Records a failed attempt for the next event.
  ///
  /// - Parameter jitter: a part of the wait from 0 to 1 that is added, so that concurrent failures are not repeated at
  ///   once.
  /// - Returns: whether the attempts are used up: the event is recorded as a failure, and the next one follows.
  mutating func refused(_ refusal: Refusal, now: Timestamp, jitter: Double) -> Bool {
    failures += 1
    attempts += 1
    let since = failingSince ?? now
    failingSince = since
    reason = refusal.reason
    if refusal.isGone || now >= since + BackendLimits.hookPatience {
      state = .disabled
      next = nil
      return false
    }
    var wait = min(BackendLimits.hookRetry * (1 << min(failures - 1, 20)), BackendLimits.hookRetryMax)
    wait += .milliseconds(Int64(jitter * Double(wait.components.seconds) * 100))
    if let asked = refusal.retryAfter { wait = max(wait, min(.seconds(asked), BackendLimits.hookRetryMax)) }
    next = now + wait
    guard attempts >= BackendLimits.hookAttemptsMax else { return false }
    attempts = 0
    return true
  }
}
