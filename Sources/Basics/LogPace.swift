/// Decides which of many similar events are logged: of each reason, and of all reasons together, so many lines in an
/// interval. What clients can cause again and again would else fill the disk.
package struct LogPace: Sendable {
  private let interval: Duration
  private let linesOfReasonMax: Int
  private let linesMax: Int
  private var began: ContinuousClock.Instant?
  private var lines: [String: Int] = [:]
  private var logged = 0
  private var unlogged = 0

  package init(interval: Duration, linesOfReasonMax: Int, linesMax: Int) {
    self.interval = interval
    self.linesOfReasonMax = linesOfReasonMax
    self.linesMax = linesMax
  }

  /// Returns how many events of the interval before were not logged, with the first line of an interval; 0 for further
  /// lines, and `nil` if this event is not logged.
  package mutating func note(_ reason: String, now: ContinuousClock.Instant) -> Int? {
    var before = 0
    if began.map({ now >= $0 + interval }) ?? true {
      before = unlogged
      (began, lines, logged, unlogged) = (now, [:], 0, 0)
    }
    guard logged < linesMax, lines[reason, default: 0] < linesOfReasonMax else {
      unlogged += 1
      return nil
    }
    logged += 1
    lines[reason, default: 0] += 1
    return before
  }
}
