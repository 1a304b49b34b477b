import Basics

/// A time on the wire: RFC 3339, UTC, milliseconds: `2026-07-14T09:30:00.000Z`.
public struct WireTime: Hashable, Sendable, Comparable {
  /// Since 1970-01-01T00:00:00Z.
  public let milliseconds: Int64
  public init(milliseconds: Int64) { self.milliseconds = milliseconds }
  public static func < (a: Self, b: Self) -> Bool { a.milliseconds < b.milliseconds }

  public var text: String {
    var bytes: [UInt8] = []
    append(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Appends the 24 characters. Years outside 0 to 9999, which RFC 3339 cannot
  /// write, are brought to the nearest that it can.
  public func append(to bytes: inout [UInt8]) {
    let bounded = min(max(milliseconds, -62_167_219_200_000), 253_402_300_799_999)
    var day = bounded / 86_400_000
    var rest = bounded % 86_400_000
    if rest < 0 {
      rest += 86_400_000
      day -= 1
    }
    // Days since 0000-03-01, then eras of 400 years (the proleptic Gregorian calendar).
    let shifted = day + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let dayOfMonth = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)

    Self.append(year, digits: 4, to: &bytes)
    bytes.append(UInt8(ascii: "-"))
    Self.append(month, digits: 2, to: &bytes)
    bytes.append(UInt8(ascii: "-"))
    Self.append(dayOfMonth, digits: 2, to: &bytes)
    bytes.append(UInt8(ascii: "T"))
    Self.append(rest / 3_600_000, digits: 2, to: &bytes)
    bytes.append(UInt8(ascii: ":"))
    Self.append(rest / 60_000 % 60, digits: 2, to: &bytes)
    bytes.append(UInt8(ascii: ":"))
    Self.append(rest / 1_000 % 60, digits: 2, to: &bytes)
    bytes.append(UInt8(ascii: "."))
    Self.append(rest % 1_000, digits: 3, to: &bytes)
    bytes.append(UInt8(ascii: "Z"))
  }

  private static func append(_ value: Int64, digits: Int, to bytes: inout [UInt8]) {
    var divisor: Int64 = 1
    for _ in 1..<digits { divisor *= 10 }
    while divisor > 0 {
      bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value / divisor % 10))
      divisor /= 10
    }
  }

  /// nil for anything but the form that `text` has.
  public init?(_ text: String) {
    let bytes = Array(text.utf8)
    guard bytes.count == 24, bytes[23] == UInt8(ascii: "Z"), bytes[10] == UInt8(ascii: "T") else { return nil }
    func number(_ range: Range<Int>) -> Int64? { Int64(String(decoding: bytes[range], as: UTF8.self)) }
    guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10), let hour = number(11..<13),
      let minute = number(14..<16), let second = number(17..<19), let fraction = number(20..<23),
      (1...12).contains(month)
    else { return nil }
    let shiftedYear = month <= 2 ? year - 1 : year
    let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
    let yearOfEra = shiftedYear - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let days = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    self.init(milliseconds: days * 86_400_000 + hour * 3_600_000 + minute * 60_000 + second * 1_000 + fraction)
    // What does not come back as it was is no time (31 February, 25:00).
    guard self.text == text else { return nil }
  }
}

extension WireTime: Codable {
  public init(from decoder: any Decoder) throws {
    let text = try decoder.singleValueContainer().decode(String.self)
    guard let time = WireTime(text) else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "must be a time like 2026-07-14T09:30:00.000Z"))
    }
    self = time
  }
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}
