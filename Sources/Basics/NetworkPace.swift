/// The pace at which connections of each network begin, as a value.
///
/// Theory: the beginning of a connection, such as a TLS handshake, costs the server more than its client, so that one network could
/// keep a core busy with connections that it never uses. A network has an allowance for many at once, such as a school after a
/// restart, and one more in each interval. Those beyond it wait for their turn, and are not refused: which of them are logins is known
/// only afterwards. Each network has the time at which its allowance is whole again, to which a connection adds an interval (the
/// generic cell rate algorithm).
public struct NetworkPace: Sendable {
  private let interval: Duration
  private let burst: Int
  private let networksMax: Int
  private var whole: [String: ContinuousClock.Instant] = [:]

  /// - Parameters:
  ///   - perSecond: The connections of one network in a second beyond its allowance.
  ///   - burst: The allowance.
  ///   - networksMax: The number of networks that are remembered; beyond it those with a whole allowance are forgotten, then all.
  public init(perSecond: Int, burst: Int, networksMax: Int) {
    interval = Duration.seconds(1) / perSecond
    self.burst = burst
    self.networksMax = networksMax
  }

  /// Returns the time for which a connection has to wait; zero for one that may begin at once.
  public mutating func wait(_ network: String, now: ContinuousClock.Instant) -> Duration {
    if whole.count >= networksMax, whole[network] == nil {
      whole = whole.filter { $0.value > now }
      if whole.count >= networksMax { whole = [:] }
    }
    let next = max(whole[network] ?? now, now) + interval
    whole[network] = next
    let due = next - interval * burst
    return due > now ? now.duration(to: due) : .zero
  }

  /// Takes back a connection that has not begun.
  public mutating func cancel(_ network: String) {
    if let time = whole[network] { whole[network] = time - interval }
  }
}
