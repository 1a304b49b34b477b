import Basics

/// The equal shares that the users of a network have of what it may send, as a value.
///
/// Theory: a network pays off what its users send at its rate. The rate is divided equally among those who have sent something that is
/// not paid off, so that each has a debt to the network that ends at a time of its own (fair queueing with a virtual time). While the
/// network as a whole is in debt, a user waits until the own debt is paid off, and no longer than until the network's is. A user who
/// floods waits for nearly as long as the network does, and one who sends a stanza for as long as one stanza of each of the others takes:
/// less than the shortest pause, for which nobody waits, where there are fewer than 200 others.
struct AccountShares: Sendable {
  /// The value of `paid` at which each user with a debt has paid it off.
  private var ends: [UserID: Double] = [:]
  /// The work that each user with a debt has paid off since the beginning, in seconds of the network's rate.
  private var paid = 0.0
  /// The time of `paid`.
  private var time: Timestamp

  init(now: Timestamp) { time = now }

  /// The number of users with a debt.
  private var count: Double { Double(ends.count) }

  /// Adds to a user's debt.
  ///
  /// - Parameter seconds: The time that the network needs for it at its rate. A negative number gives back.
  mutating func add(_ seconds: Double, by user: UserID, now: Timestamp) {
    if seconds == 0 { return }
    pay(until: now)
    let end = max(ends[user] ?? paid, paid) + seconds
    ends[user] = end > paid ? end : nil
  }

  /// Returns the time for which a user has to wait; zero if the user need not.
  ///
  /// - Parameter whole: The time until the network is no longer in debt.
  mutating func wait(of user: UserID, atMost whole: Duration, now: Timestamp) -> Duration {
    pay(until: now)
    guard let end = ends[user], end > paid else { return .zero }
    let own = Duration.milliseconds(Int64(min(3_600_000, ((end - paid) * count * 1_000).rounded(.up))))
    let isSmall = end - paid <= Limits.sendingNetworkSmallDebt
    let time = min(own, whole, isSmall ? Limits.sendingNetworkPauseShort : whole)
    return time < Limits.sendingPauseMin ? .zero : time
  }

  private mutating func pay(until now: Timestamp) {
    let elapsed = now.milliseconds - time.milliseconds
    // Threads come in another order than the times that they have read. A clock that is set back pays nothing.
    if elapsed <= -1_000 { time = now }
    guard elapsed >= Limits.sendingNetworkStep else { return }
    time = now
    if ends.isEmpty { return }
    paid += Double(elapsed) / 1_000 / count
    // With few users all have mostly paid, and what they send next allocates nothing.
    if ends.values.allSatisfy({ $0 <= paid }) {
      ends.removeAll(keepingCapacity: true)
    } else {
      ends = ends.filter { $0.value > paid }
    }
  }
}
