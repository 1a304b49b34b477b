/// Percent-encoding of UTF-8 octets in URIs (RFC 3986 2.1).
public enum PercentEncoding {
  /// Encodes everything but the unreserved characters (RFC 3986 2.3).
  ///
  /// - Parameter others: ASCII characters that stay as they are, too.
  public static func encode(_ text: String, keeping others: String = "") -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    for byte in text.utf8 {
      if isUnreserved(byte) || others.utf8.contains(byte) {
        bytes.append(byte)
      } else {
        bytes += [UInt8(ascii: "%"), capital(byte >> 4), capital(byte & 15)]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Returns whether a byte is a letter or a digit of ASCII, or one of `-._~`.
  public static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
      true
    default: false
    }
  }

  /// Returns the decoded text; `nil` for a % without two hexadecimal digits, and for invalid UTF-8.
  public static func decode(_ text: String) -> String? {
    guard text.utf8.contains(UInt8(ascii: "%")) else { return text }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    var iterator = text.utf8.makeIterator()
    while let byte = iterator.next() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = iterator.next().flatMap(Hex.value(ofDigit:)),
        let low = iterator.next().flatMap(Hex.value(ofDigit:))
      else { return nil }
      bytes.append(high << 4 | low)
    }
    return String(validating: bytes, as: UTF8.self)
  }

  /// Returns a capital digit, as encoders should write (RFC 3986 2.1).
  private static func capital(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") - 10 + value
  }
}
