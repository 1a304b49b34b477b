/// Base64 (RFC 4648 4) as RFC 6120 6.3.5 requires it: padded, no white space, padding bits zero.
public enum Base64 {
  private static let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
  private static let pad = UInt8(ascii: "=")

  /// Returns the text of some bytes; empty for none.
  public static func encode(_ bytes: some Collection<UInt8>) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    alphabet.withUTF8Buffer { letters in
      var iterator = bytes.makeIterator()
      while let first = iterator.next() {
        let second = iterator.next()
        let third = second == nil ? nil : iterator.next()
        text.append(letters[Int(first >> 2)])
        text.append(letters[Int((first & 0x03) << 4 | (second ?? 0) >> 4)])
        text.append(second == nil ? pad : letters[Int(((second ?? 0) & 0x0F) << 2 | (third ?? 0) >> 6)])
        text.append(third == nil ? pad : letters[Int((third ?? 0) & 0x3F)])
      }
    }
    return text
  }

  /// Returns the text as a `String`.
  public static func string(_ bytes: some Collection<UInt8>) -> String {
    String(decoding: encode(bytes), as: UTF8.self)
  }

  /// Returns the bytes of a text; `nil` if a character is outside the alphabet, white space included, if the padding is
  /// missing or not at the end, or if padding bits are set.
  public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    guard text.count % 4 == 0 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count / 4 * 3)
    var group: UInt32 = 0
    var count = 0
    var padding = 0
    for character in text {
      var digit: UInt32 = 0
      if character == pad {
        padding += 1
      } else {
        guard padding == 0, let value = value(of: character) else { return nil }
        digit = UInt32(value)
      }
      group = group << 6 | digit
      count += 1
      guard count == 4 else { continue }
      switch padding {
      case 0:
        bytes.append(UInt8(truncatingIfNeeded: group >> 16))
        bytes.append(UInt8(truncatingIfNeeded: group >> 8))
        bytes.append(UInt8(truncatingIfNeeded: group))
      case 1:
        guard group & 0xFF == 0 else { return nil }
        bytes.append(UInt8(truncatingIfNeeded: group >> 16))
        bytes.append(UInt8(truncatingIfNeeded: group >> 8))
      case 2:
        guard group & 0xFFFF == 0 else { return nil }
        bytes.append(UInt8(truncatingIfNeeded: group >> 16))
      default:
        return nil
      }
      group = 0
      count = 0
      if padding > 0 { padding = 3 }  // Anything after this group is wrong.
    }
    return bytes
  }

  private static func value(of character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
