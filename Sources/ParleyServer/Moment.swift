public import Dialogs
import Glibc

/// Times as people and programs read them.
package enum Moment {
  /// RFC 3339, UTC, milliseconds: `2026-01-31T12:00:00.000Z`.
  package static func text(_ time: Timestamp) -> String {
    // Milliseconds before 1970 round down, too.
    let thousandths = ((time.milliseconds % 1_000) + 1_000) % 1_000
    var seconds = time_t((time.milliseconds - thousandths) / 1_000)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
      + "T\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)).\(String(1_000 + thousandths).dropFirst())Z"
  }

  package static func now() -> Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
  }
}

/// The machine's clock.
public struct SystemClock: Dialogs.Clock {
  public init() {}
  public var now: Timestamp { Moment.now() }
}
