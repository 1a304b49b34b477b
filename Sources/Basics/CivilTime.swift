/// A time in the proleptic Gregorian calendar, in UTC.
///
/// Internally a year starts in March, so that the leap day is its last day and a month's start is a linear formula; 400
/// years have 146,097 days.
public struct CivilTime: Hashable, Sendable {
  /// From 1 to 9999: times outside are moved to the nearer end.
  public let year: Int
  /// From 1 to 12.
  public let month: Int
  /// From 1 to 31.
  public let day: Int
  /// From 0, Sunday, to 6.
  public let weekday: Int
  public let hour: Int
  public let minute: Int
  public let second: Int
  public let millisecond: Int

  public init(_ time: Timestamp) {
    let milliseconds = min(max(time, .earliest), .latest).milliseconds
    let days = milliseconds.floorDivided(by: 86_400_000)
    let rest = Int(milliseconds - days * 86_400_000)
    // Days since 0000-03-01, which are positive.
    let shifted = Int(days) + 719_468
    let era = shifted / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    // 0000-03-01 was a Wednesday.
    weekday = (shifted + 3) % 7
    hour = rest / 3_600_000
    minute = rest / 60_000 % 60
    second = rest / 1_000 % 60
    millisecond = rest % 1_000
  }

  /// The date of HTTP (RFC 9110 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
  public var httpDate: String { "\(Self.weekdays[weekday]), \(Self.two(day)) \(monthAndYear) \(clock) GMT" }

  /// The date of mail (RFC 5322 3.3): `Sun, 6 Nov 1994 08:49:37 +0000`.
  public var mailDate: String { "\(Self.weekdays[weekday]), \(day) \(monthAndYear) \(clock) +0000" }

  private var monthAndYear: String { "\(Self.months[month - 1]) \(year)" }
  private var clock: String { "\(Self.two(hour)):\(Self.two(minute)):\(Self.two(second))" }

  private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

  /// Returns the days from 1970-01-01 to a date; `nil` if there is no such date from year 1 on.
  static func days(year: Int, month: Int, day: Int) -> Int? {
    guard year >= 1, (1...12).contains(month), day >= 1, day <= length(ofMonth: month, year: year) else { return nil }
    let year = month <= 2 ? year - 1 : year
    let era = year / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  private static func length(ofMonth month: Int, year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}

extension Int64 {
  /// Division rounded down, for times before 1970. The divisor is positive.
  fileprivate func floorDivided(by divisor: Self) -> Self {
    let quotient = self / divisor
    return self % divisor < 0 ? quotient - 1 : quotient
  }
}
