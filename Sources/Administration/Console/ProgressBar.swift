/// A progress bar as text: the fraction, the count, the rate and the remaining time.
package struct ProgressBar {
  /// The plural noun of the counted items, such as `users`.
  private let noun: String
  private let start: ContinuousClock.Instant
  private var shown: ContinuousClock.Instant?

  package init(_ noun: String, start: ContinuousClock.Instant = .now) {
    self.noun = noun
    self.start = start
  }

  /// Returns the bar at most ten times a second, otherwise nil.
  package mutating func update(done: Int, fraction: Double, now: ContinuousClock.Instant = .now) -> String? {
    if let shown, now - shown < .milliseconds(100), fraction < 1 { return nil }
    shown = now
    return Self.text(noun, done: done, fraction: fraction, elapsed: now - start)
  }

  /// Returns a bar such as `[##########----------]  50 %  5,000 users  1,950/s  00:03 left`.
  static func text(_ noun: String, done: Int, fraction: Double, elapsed: Duration) -> String {
    let fraction = min(1, max(0, fraction))
    let filled = Int(fraction * 20)
    let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: 20 - filled)
    let percent = String(Int(fraction * 100))
    let seconds = Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18
    let rate = seconds > 0 ? Int(Double(done) / seconds) : 0
    let padding = String(repeating: " ", count: 3 - percent.count)
    var text = "[\(bar)] \(padding)\(percent) %  \(grouped(done)) \(noun)  \(grouped(rate))/s"
    if fraction >= 1 {
      text += "  \(clock(seconds)) in all"
    } else if fraction > 0, seconds > 0.5 {
      text += "  \(clock(seconds / fraction * (1 - fraction))) left"
    }
    return text
  }

  /// Returns the number with its digits in groups of three.
  package static func grouped(_ number: Int) -> String {
    var groups: [String] = []
    var rest = number.magnitude
    while rest >= 1_000 {
      groups.append(String(1_000 + rest % 1_000).dropFirst().description)
      rest /= 1_000
    }
    groups.append(String(rest))
    return (number < 0 ? "-" : "") + groups.reversed().joined(separator: ",")
  }

  /// Returns a number with its noun.
  ///
  /// - Parameter plural: the noun, which has an `s` at its end.
  package static func counted(_ number: Int, _ plural: String) -> String {
    "\(grouped(number)) \(number == 1 ? String(plural.dropLast()) : plural)"
  }

  private static func clock(_ seconds: Double) -> String {
    let whole = seconds.isFinite ? Int(min(seconds.rounded(), 359_999)) : 0
    let (hours, minutes, rest) = (whole / 3_600, whole / 60 % 60, whole % 60)
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : String(number) }
    return hours > 0 ? "\(hours):\(two(minutes)):\(two(rest))" : "\(two(minutes)):\(two(rest))"
  }
}
