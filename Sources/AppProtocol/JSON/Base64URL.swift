/// Bytes as text, as tokens, keys of browsers and push providers write them: RFC 4648 5 without padding (RFC 7515 2, RFC 8291).
public enum Base64URL {
  /// nil: it is none. One text for the same bytes: padding, and bits that are left and not zero, are refused.
  public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count * 3 / 4)
    var (bits, count) = (UInt32(0), 0)
    for letter in text {
      guard let value = value(letter) else { return nil }
      bits = bits << 6 | UInt32(value)
      count += 6
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
      }
      bits &= 0xffff
    }
    // Six bits alone are no byte, and those that are left are zero.
    guard count < 6, bits & (1 << UInt32(count) - 1) == 0 else { return nil }
    return bytes
  }

  public static func encode(_ bytes: [UInt8]) -> String {
    String(unsafeUninitializedCapacity: (bytes.count * 4 + 2) / 3) { text in
      var (bits, count, end) = (UInt32(0), 0, 0)
      for byte in bytes {
        bits = (bits << 8 | UInt32(byte)) & 0xffff
        count += 8
        while count >= 6 {
          count -= 6
          text[end] = letters[Int(bits >> UInt32(count) & 63)]
          end += 1
        }
      }
      if count > 0 {
        text[end] = letters[Int(bits << UInt32(6 - count) & 63)]
        end += 1
      }
      return end
    }
  }

  private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  private static func value(_ letter: UInt8) -> UInt8? {
    switch letter {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): letter - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): letter - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): letter - UInt8(ascii: "0") + 52
    case UInt8(ascii: "-"): 62
    case UInt8(ascii: "_"): 63
    default: nil
    }
  }
}
