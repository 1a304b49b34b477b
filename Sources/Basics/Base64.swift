/// Base 64 (RFC 4648 4) as RFC 6120 6.3.5 requires it: padded, without white space, padding bits zero.
public enum Base64 {
  private static let coding = LetterCoding(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", bitsPerLetter: 6)

  /// Returns the text of some bytes; empty for none.
  public static func encode(_ bytes: some Sequence<UInt8>) -> [UInt8] {
    var text = coding.encode(bytes)
    for _ in 0..<(-text.count & 3) { text.append(UInt8(ascii: "=")) }
    return text
  }

  /// Does the same as `encode`, and returns a `String`.
  public static func string(_ bytes: some Sequence<UInt8>) -> String {
    String(decoding: encode(bytes), as: UTF8.self)
  }

  /// Returns the bytes of a text; `nil` if a character is outside the alphabet, white space included, or if the padding
  /// is missing or not at the end.
  ///
  /// - Parameter canonical: whether padding bits must be zero, so that each byte string has one text.
  public static func decode(_ text: some Sequence<UInt8>, canonical: Bool = true) -> [UInt8]? {
    var letters = Array(text)
    guard letters.count % 4 == 0 else { return nil }
    for _ in 0..<2 where letters.last == UInt8(ascii: "=") { letters.removeLast() }
    return coding.decode(letters, canonical: canonical)
  }
}

/// Base 64 in the form of tokens, browsers' keys and push services: RFC 4648 5 without padding (RFC 7515 2, RFC 8291).
public enum Base64URL {
  private static let coding = LetterCoding(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", bitsPerLetter: 6)

  /// Returns the text of some bytes, without padding.
  public static func string(_ bytes: some Sequence<UInt8>) -> String {
    String(decoding: coding.encode(bytes), as: UTF8.self)
  }

  /// Returns the bytes of a text; `nil` for padding, for other characters, and for unused bits that are not zero: each
  /// byte string has one text.
  public static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? { coding.decode(Array(text), canonical: true) }
}

/// Base 32 (RFC 4648 6) without padding, as authenticator apps show secrets.
public enum Base32 {
  private static let coding = LetterCoding("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", bitsPerLetter: 5)

  /// Returns the text of some bytes, without padding.
  public static func string(_ bytes: some Sequence<UInt8>) -> String {
    String(decoding: coding.encode(bytes), as: UTF8.self)
  }

  /// Returns the bytes of a text in capitals; `nil` for anything else, and for unused bits that are not zero.
  public static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? { coding.decode(Array(text), canonical: true) }
}

/// An encoding of RFC 4648 without padding, each letter of which represents the same number of bits.
private struct LetterCoding: Sendable {
  private let letters: [UInt8]
  /// The value of every byte as a letter; 255 for other bytes.
  private let values: [UInt8]
  private let bitsPerLetter: Int

  init(_ letters: StaticString, bitsPerLetter: Int) {
    self.letters = letters.withUTF8Buffer { Array($0) }
    var values = [UInt8](repeating: 255, count: 256)
    for (value, letter) in self.letters.enumerated() { values[Int(letter)] = UInt8(value) }
    self.values = values
    self.bitsPerLetter = bitsPerLetter
  }

  /// Encodes bytes, reserving space for the padding of base 64, too.
  func encode(_ bytes: some Sequence<UInt8>) -> [UInt8] {
    let bytes = Array(bytes)
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count * 8 / bitsPerLetter + 4)
    var (bits, count) = (0, 0)
    for byte in bytes {
      bits = bits << 8 & 0xffff | Int(byte)
      count += 8
      while count >= bitsPerLetter {
        count -= bitsPerLetter
        text.append(letters[bits >> count & (letters.count - 1)])
      }
    }
    if count > 0 { text.append(letters[bits << (bitsPerLetter - count) & (letters.count - 1)]) }
    return text
  }

  func decode(_ text: [UInt8], canonical: Bool) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count * bitsPerLetter / 8)
    var (bits, count) = (0, 0)
    for letter in text {
      let value = values[Int(letter)]
      guard value < 255 else { return nil }
      bits = (bits << bitsPerLetter | Int(value)) & 0xffff
      count += bitsPerLetter
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> count))
      }
    }
    // The bits of a single letter are no byte.
    guard count < bitsPerLetter, !canonical || bits & (1 << count - 1) == 0 else { return nil }
    return bytes
  }
}
