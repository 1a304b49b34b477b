/// A time, to the millisecond.
public struct Timestamp: Hashable, Sendable, Comparable {
  /// Milliseconds since 1970-01-01T00:00:00Z.
  public let milliseconds: Int64

  public init(milliseconds: Int64) { self.milliseconds = milliseconds }

  /// 0001-01-01T00:00:00.000Z, the first time that can be written.
  public static let earliest = Timestamp(milliseconds: -62_135_596_800_000)
  /// 9999-12-31T23:59:59.999Z, the last time that can be written.
  public static let latest = Timestamp(milliseconds: 253_402_300_799_999)

  public static func < (a: Self, b: Self) -> Bool { a.milliseconds < b.milliseconds }

  public static func + (a: Self, b: Duration) -> Timestamp {
    Timestamp(
      milliseconds: a.milliseconds + b.components.seconds * 1000
        + b.components.attoseconds / 1_000_000_000_000_000)
  }
}

// MARK: The written form

/// The written form is `1969-07-21T02:56:15.000Z`: RFC 3339 and DateTime of XEP-0082. Times outside its range are
/// written as the nearest one inside.
extension Timestamp: CustomStringConvertible {
  /// The number of bytes of the written form.
  public static let byteCount = 24

  public var description: String { withBytes { String(decoding: $0, as: UTF8.self) } }

  /// Calls `body` with the written form, without allocating.
  public func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.byteCount) { buffer in
      let civil = CivilTime(self)
      Self.write(civil.year, 4, into: buffer, at: 0)
      buffer[4] = UInt8(ascii: "-")
      Self.write(civil.month, 2, into: buffer, at: 5)
      buffer[7] = UInt8(ascii: "-")
      Self.write(civil.day, 2, into: buffer, at: 8)
      buffer[10] = UInt8(ascii: "T")
      Self.write(civil.hour, 2, into: buffer, at: 11)
      buffer[13] = UInt8(ascii: ":")
      Self.write(civil.minute, 2, into: buffer, at: 14)
      buffer[16] = UInt8(ascii: ":")
      Self.write(civil.second, 2, into: buffer, at: 17)
      buffer[19] = UInt8(ascii: ".")
      Self.write(civil.millisecond, 3, into: buffer, at: 20)
      buffer[23] = UInt8(ascii: "Z")
      return try body(UnsafeRawBufferPointer(buffer))
    }
  }

  private static func write(_ number: Int, _ digits: Int, into buffer: UnsafeMutableBufferPointer<UInt8>, at start: Int)
  {
    var (rest, place) = (number, start + digits)
    while place > start {
      place -= 1
      // From the digit zero of ASCII on.
      buffer[place] = 0x30 + UInt8(truncatingIfNeeded: rest % 10)
      rest /= 10
    }
  }

  /// Reads what `description` writes; `nil` for any other form, also of the same time.
  public init?(written text: String) {
    guard let time = Timestamp(text), time.description == text else { return nil }
    self = time
  }

  /// Reads a DateTime of XEP-0082, `CCYY-MM-DDThh:mm:ss[.sss]TZD`; white space around it is an error. Fractions are cut
  /// to milliseconds; an offset is applied. `nil` for anything else, including invalid dates and leap seconds.
  public init?(_ text: String) {
    var text = text
    guard let value = text.withUTF8({ Timestamp(UnsafeRawBufferPointer($0)) }) else { return nil }
    self = value
  }

  /// Does the same as `init(_: String)`, from bytes.
  public init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= 20, bytes.count <= 64,
      let year = Self.number(bytes, 0, 4), bytes[4] == UInt8(ascii: "-"),
      let month = Self.number(bytes, 5, 2), bytes[7] == UInt8(ascii: "-"),
      let day = Self.number(bytes, 8, 2), bytes[10] == UInt8(ascii: "T"),
      let hour = Self.number(bytes, 11, 2), bytes[13] == UInt8(ascii: ":"),
      let minute = Self.number(bytes, 14, 2), bytes[16] == UInt8(ascii: ":"),
      let second = Self.number(bytes, 17, 2), hour <= 23, minute <= 59, second <= 59,
      let days = CivilTime.days(year: year, month: month, day: day)
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
    let seconds = days * 86_400 + hour * 3600 + (minute - offset) * 60 + second
    self = min(max(Timestamp(milliseconds: Int64(seconds) * 1000 + Int64(millisecond)), .earliest), .latest)
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
}

/// Decoded and encoded as the text that `description` has, and no other.
extension Timestamp: Codable {
  public init(from decoder: any Decoder) throws {
    let text = try decoder.singleValueContainer().decode(String.self)
    guard let time = Timestamp(written: text) else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "must be a time like 2026-07-14T09:30:00.000Z"))
    }
    self = time
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}

/// The source of the time: the system's clock, or a test's.
public protocol Clock: Sendable {
  var now: Timestamp { get }
}
