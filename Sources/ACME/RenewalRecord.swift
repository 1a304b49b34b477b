package import Basics

/// The record of a server's attempts, kept over restarts: a value, whose changes take the time and a random number.
package struct RenewalRecord: Codable, Hashable, Sendable {
  /// The URL of the authority's directory, to which the account's key belongs.
  package let directory: String
  /// Whether the present certificate is of this authority.
  package private(set) var hasIssued = false
  /// The times of the orders of the last 24 hours, in milliseconds since 1970.
  private var orders: [Int64] = []
  private var failures = 0
  private var failing: Int64?
  /// The reason why the last attempt failed, or what is missing in its certificate; nil if nothing is.
  package private(set) var failure: String?
  private var next: Int64?
  private var bidden: Int64?

  package init(directory: String) { self.directory = directory }

  /// The time of the first failure since the last success; nil if the last attempt succeeded.
  package var failingSince: Timestamp? { failing.map(Timestamp.init(milliseconds:)) }
  /// The time before which the server tries nothing by itself.
  package var notBefore: Timestamp? { next.map(Timestamp.init(milliseconds:)) }
  /// The time until which the authority has asked to wait, also an operator.
  package var bidUntil: Timestamp? { bidden.map(Timestamp.init(milliseconds:)) }

  /// Returns the orders that may be made now.
  package func ordersLeft(at now: Timestamp) -> Int {
    max(0, ACMELimits.ordersPerDayMax - recent(now).count)
  }

  /// Returns the time at which an order may be made.
  package func orderPermitted(at now: Timestamp) -> Timestamp {
    let recent = recent(now)
    guard recent.count >= ACMELimits.ordersPerDayMax, let first = recent.min() else { return now }
    return Timestamp(milliseconds: first + Self.day)
  }

  package mutating func ordered(at now: Timestamp) { orders = recent(now) + [now.milliseconds] }

  /// Notes a failure, and when the next attempt is due: the later of a delay that doubles with each failure, and the
  /// time that the authority asks for.
  ///
  /// - Parameter random: From 0 to below 1, so that servers that failed together do not come back together.
  package mutating func failed(_ reason: ACMEFailure, at now: Timestamp, random: Double) {
    failures += 1
    failing = failing ?? now.milliseconds
    failure = reason.text
    let least = reason.isUnreachable ? ACMELimits.unreachableSeconds : ACMELimits.refusedSeconds
    let delay = min(least << min(failures - 1, 16), ACMELimits.backoffSecondsMax)
    let spread = Double(delay) * (1 + random / 4)
    next = now.milliseconds + Int64(spread * 1_000)
    bidden = nil
    if let seconds = reason.retryAfter, seconds > 0 {
      let until = now.milliseconds + Int64(min(seconds, ACMELimits.retryAfterMax)) * 1_000
      bidden = until
      next = max(next ?? until, until)
    }
  }

  /// Notes a certificate.
  package mutating func succeeded() {
    hasIssued = true
    (failures, failing, failure, next, bidden) = (0, nil, nil, nil, nil)
  }

  /// Another server with the same folder cannot exist, but a clock that was set back can: later orders do not count.
  private func recent(_ now: Timestamp) -> [Int64] {
    orders.filter { $0 > now.milliseconds - Self.day && $0 <= now.milliseconds }
  }

  private static let day: Int64 = 86_400_000
}

/// The time at which a certificate is renewed.
package enum RenewalTime {
  /// Returns the time at which a third of the validity remains, or up to a thirtieth of it earlier.
  ///
  /// - Parameter fraction: From 0 to below 1, the same for the same certificate: certificates that were issued together
  ///   are not renewed together.
  package static func of(from: Timestamp, until: Timestamp, fraction: Double) -> Timestamp {
    let validity = max(0, until.milliseconds - from.milliseconds)
    return Timestamp(milliseconds: until.milliseconds - validity / 3 - Int64(Double(validity) / 30 * fraction))
  }
}
