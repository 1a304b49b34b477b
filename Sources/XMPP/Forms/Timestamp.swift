/// A time in UTC, to the millisecond: DateTime of XEP-0082, `CCYY-MM-DDThh:mm:ss[.sss]TZD`.
///
/// Years are 0001 to 9999; a time outside is moved to the nearer end. Days are counted with the proleptic Gregorian
/// calendar: a year starts in March, so that the leap day is its last and a month's start is a linear formula.
public struct Timestamp: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// Milliseconds since 1970-01-01T00:00:00Z.
  public let milliseconds: Int64

  /// 0001-01-01T00:00:00.000Z.
  public static let earliest = Timestamp(milliseconds: -62_135_596_800_000)
  /// 9999-12-31T23:59:59.999Z.
  public static let latest = Timestamp(milliseconds: 253_402_300_799_999)

  /// The bytes of the written form: `1969-07-21T02:56:15.000Z`.
  public static let byteCount = 24

  public init(milliseconds: Int64) {
    self.milliseconds = min(max(milliseconds, -62_135_596_800_000), 253_402_300_799_999)
  }

  public static func < (a: Timestamp, b: Timestamp) -> Bool { a.milliseconds < b.milliseconds }

  // MARK: Writing

  /// Calls `body` with the written form: 24 bytes, milliseconds and `Z`, without allocating.
  public func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.byteCount) { buffer in
      let day = milliseconds.floorDivided(by: 86_400_000)
      var rest = Int(milliseconds - day * 86_400_000)
      let (year, month, dayOfMonth) = Self.civil(fromDays: Int(day))
      let millisecond = rest % 1000
      rest /= 1000
      Self.write(year, 4, into: buffer, at: 0)
      buffer[4] = UInt8(ascii: "-")
      Self.write(month, 2, into: buffer, at: 5)
      buffer[7] = UInt8(ascii: "-")
      Self.write(dayOfMonth, 2, into: buffer, at: 8)
      buffer[10] = UInt8(ascii: "T")
      Self.write(rest / 3600, 2, into: buffer, at: 11)
      buffer[13] = UInt8(ascii: ":")
      Self.write(rest / 60 % 60, 2, into: buffer, at: 14)
      buffer[16] = UInt8(ascii: ":")
      Self.write(rest % 60, 2, into: buffer, at: 17)
      buffer[19] = UInt8(ascii: ".")
      Self.write(millisecond, 3, into: buffer, at: 20)
      buffer[23] = UInt8(ascii: "Z")
      return try body(UnsafeRawBufferPointer(buffer))
    }
  }

  /// The written form.
  public var description: String { withBytes { String(decoding: $0, as: UTF8.self) } }

  private static func write(_ number: Int, _ digits: Int, into buffer: UnsafeMutableBufferPointer<UInt8>, at start: Int)
  {
    var rest = number
    for place in stride(from: start + digits - 1, through: start, by: -1) {
      buffer[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
      rest /= 10
    }
  }

  // MARK: Reading

  /// Reads a DateTime; white space around it is an error. Fractions are cut to milliseconds; an offset is applied.
  /// `nil` for anything else, including nonexistent dates and leap seconds.
  public init?(_ text: String) {
    var text = text
    guard let value = text.withUTF8({ Timestamp(UnsafeRawBufferPointer($0)) }) else { return nil }
    self = value
  }

  /// Reads a DateTime from bytes, like `init(_: String)`.
  public init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= 20, bytes.count <= 64,
      let year = Self.number(bytes, 0, 4), bytes[4] == UInt8(ascii: "-"),
      let month = Self.number(bytes, 5, 2), bytes[7] == UInt8(ascii: "-"),
      let day = Self.number(bytes, 8, 2), bytes[10] == UInt8(ascii: "T"),
      let hour = Self.number(bytes, 11, 2), bytes[13] == UInt8(ascii: ":"),
      let minute = Self.number(bytes, 14, 2), bytes[16] == UInt8(ascii: ":"),
      let second = Self.number(bytes, 17, 2),
      year >= 1, (1...12).contains(month), day >= 1, day <= Self.length(ofMonth: month, year: year),
      hour <= 23, minute <= 59, second <= 59
    else { return nil }
    var at = 19
    var millisecond = 0
    if bytes[at] == UInt8(ascii: ".") {
      at += 1
      let start = at
      var weight = 100
      while at < bytes.count, let digit = Self.digit(bytes[at]) {
        millisecond += digit * weight
        weight /= 10
        at += 1
      }
      guard at > start else { return nil }
    }
    guard at < bytes.count else { return nil }
    var offset = 0
    switch bytes[at] {
    case UInt8(ascii: "Z"):
      guard at + 1 == bytes.count else { return nil }
    case UInt8(ascii: "+"), UInt8(ascii: "-"):
      guard at + 6 == bytes.count, let hours = Self.number(bytes, at + 1, 2), bytes[at + 3] == UInt8(ascii: ":"),
        let minutes = Self.number(bytes, at + 4, 2), hours <= 14, minutes <= 59
      else { return nil }
      offset = hours * 60 + minutes
      if bytes[at] == UInt8(ascii: "-") { offset = -offset }
    default: return nil
    }
    let seconds = Self.days(year: year, month: month, day: day) * 86_400 + hour * 3600 + (minute - offset) * 60 + second
    self.init(milliseconds: Int64(seconds) * 1000 + Int64(millisecond))
  }

  private static func digit(_ byte: UInt8) -> Int? {
    byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") ? Int(byte - UInt8(ascii: "0")) : nil
  }

  private static func number(_ bytes: UnsafeRawBufferPointer, _ start: Int, _ count: Int) -> Int? {
    var value = 0
    for at in start..<(start + count) {
      guard let digit = digit(bytes[at]) else { return nil }
      value = value * 10 + digit
    }
    return value
  }

  // MARK: The calendar

  /// Returns the days from 1970-01-01. 400 years have 146,097 days; the era starts on a 1st of March.
  private static func days(year: Int, month: Int, day: Int) -> Int {
    let year = month <= 2 ? year - 1 : year
    let era = year.floorDivided(by: 400)
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }

  private static func civil(fromDays days: Int) -> (year: Int, month: Int, day: Int) {
    let shifted = days + 719_468
    let era = shifted.floorDivided(by: 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
  }

  private static func length(ofMonth month: Int, year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}

extension FixedWidthInteger {
  /// Returns the quotient rounded down, for dates before the epoch. The divisor is positive.
  fileprivate func floorDivided(by divisor: Self) -> Self {
    let quotient = self / divisor
    return self % divisor < 0 ? quotient - 1 : quotient
  }
}
