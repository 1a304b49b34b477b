extension Timestamp {
  /// Reads a date of HTTP in any of its three forms (RFC 9110 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94
  /// 08:49:37 GMT`, `Sun Nov  6 08:49:37 1994`. The name of the day is not compared with the date. A year of two digits is
  /// one from 1970 to 2069. `nil` for anything else.
  public init?(httpDate text: String) {
    let parts = text.split(separator: " ", maxSplits: 8).map(String.init)
    let (day, month, year, clock): (String, String, String, String)
    switch parts.count {
    case 6 where parts[5] == "GMT" && parts[0].hasSuffix(","):
      (day, month, year, clock) = (parts[1], parts[2], parts[3], parts[4])
    case 4 where parts[3] == "GMT" && parts[0].hasSuffix(","):
      let date = parts[1].split(separator: "-", omittingEmptySubsequences: false).map(String.init)
      guard date.count == 3, date[2].utf8.count == 2, let short = Self.number(date[2]) else { return nil }
      (day, month, year, clock) = (date[0], date[1], "\(short < 70 ? 2_000 + short : 1_900 + short)", parts[2])
    case 5: (month, day, clock, year) = (parts[1], parts[2], parts[3], parts[4])
    default: return nil
    }
    let times = clock.split(separator: ":", omittingEmptySubsequences: false)
    guard times.count == 3, times.allSatisfy({ $0.utf8.count == 2 }), year.utf8.count == 4, let day = Self.number(day),
      let month = CivilTime.months.firstIndex(of: month), let year = Self.number(year),
      let hour = Self.number(String(times[0])), let minute = Self.number(String(times[1])),
      let second = Self.number(String(times[2])), hour <= 23, minute <= 59, second <= 60,
      let days = CivilTime.days(year: year, month: month + 1, day: day)
    else { return nil }
    self.init(milliseconds: Int64(days * 86_400 + hour * 3_600 + minute * 60 + min(second, 59)) * 1_000)
  }

  private static func number(_ digits: String) -> Int? {
    digits.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(digits) : nil
  }
}
