/// Bytes that are parsed, and the place in them.
struct ByteCursor {
  let bytes: [UInt8]
  var at = 0
  /// The line of the place.
  var line: Int

  init(_ bytes: [UInt8], line: Int) {
    self.bytes = bytes
    self.line = line
  }

  var isAtEnd: Bool { at >= bytes.count }
  /// The byte at the place; 0 at the end.
  var byte: UInt8 { at < bytes.count ? bytes[at] : 0 }

  func isAt(_ word: String) -> Bool { bytes[at...].starts(with: word.utf8) }

  /// Goes over a word, if it is there.
  mutating func take(_ word: String) -> Bool {
    guard isAt(word) else { return false }
    at += word.utf8.count
    return true
  }

  /// Goes over spaces and ends of lines.
  mutating func skipBlanks() {
    while at < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[at]) {
      if bytes[at] == 0x0A { line += 1 }
      at += 1
    }
  }

  /// Goes over the bytes that fit, and returns them.
  mutating func takeWhile(_ fits: (UInt8) -> Bool) -> ArraySlice<UInt8> {
    let start = at
    while at < bytes.count, fits(bytes[at]) { at += 1 }
    return bytes[start..<at]
  }

  /// Whether a byte is a letter, a digit or an underscore.
  static func isName(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == 0x5F
  }

  /// Returns the control character of which a letter is the escape (`\n`), where C's rule is followed; else `nil`.
  static func control(_ letter: UInt8) -> UInt8? {
    switch letter {
    case UInt8(ascii: "b"): 8
    case UInt8(ascii: "t"): 9
    case UInt8(ascii: "n"): 10
    case UInt8(ascii: "v"): 11
    case UInt8(ascii: "f"): 12
    case UInt8(ascii: "r"): 13
    default: nil
    }
  }
}
