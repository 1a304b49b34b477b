/// Bytes in hexadecimal digits (RFC 4648 8, in lower case).
public enum Hex {
  /// Returns two lower-case digits for each byte.
  public static func encode(_ bytes: some Sequence<UInt8>) -> [UInt8] {
    var text: [UInt8] = []
    for byte in bytes {
      text.append(digit(byte >> 4))
      text.append(digit(byte & 15))
    }
    return text
  }

  /// Does the same as `encode`, and returns a `String`.
  public static func string(_ bytes: some Sequence<UInt8>) -> String { String(decoding: encode(bytes), as: UTF8.self) }

  /// Returns the lower-case digit of a number from 0 to 15.
  public static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value
  }

  /// Returns the value of a digit in either case; `nil` for other bytes.
  public static func value(ofDigit byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  /// Returns a UUID (RFC 9562 4) in text.
  ///
  /// - Parameters:
  ///   - bytes: 16 bytes; six bits of them are replaced by version and variant.
  ///   - version: 4 for random bytes (5.4), 8 for others (5.8).
  public static func uuid(_ bytes: [UInt8], version: UInt8) -> String {
    var bytes = bytes
    bytes[6] = bytes[6] & 0x0f | version << 4
    bytes[8] = bytes[8] & 0x3f | 0x80
    return [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { string(bytes[$0]) }.joined(separator: "-")
  }
}
