/// Text that came from elsewhere, made fit for one line of a terminal or a log.
package enum Line {
  /// Returns the beginning of a name or word, long enough to find it: it may be as long as what it came in.
  package static func beginning(of name: String) -> String { String(name.unicodeScalars.prefix(128)) }

  /// Returns the text with escapes in place of control characters, line breaks and direction overrides, so that a
  /// user's name cannot move the cursor, hide the following text or forge a log line. What cannot be seen is escaped and
  /// not left out, as it is where people read names (`ShownText` in Addresses): an operator has to see what is stored.
  package static func safe(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: hides) else { return text }
    var result = ""
    for scalar in text.unicodeScalars {
      if hides(scalar) {
        result += scalar == "\n" ? "\\n" : "\\u{\(String(scalar.value, radix: 16))}"
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// Returns JSON with its own escapes in place of the same characters, which stand nowhere but in its texts: its meaning
  /// stays. The line breaks between its members stay, too.
  package static func safe(json text: String) -> String {
    guard text.unicodeScalars.contains(where: { $0 != "\n" && hides($0) }) else { return text }
    var result = ""
    for scalar in text.unicodeScalars {
      if scalar != "\n", hides(scalar) {
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// Whether a character is a control character, has no shape, or changes the direction of what stands beside it. Joiners
  /// are none of these: words of living scripts and emoji have them.
  package static func hides(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7f..<0xa0, 0xad, 0x61c, 0x180e, 0x200b, 0x200e, 0x200f, 0x2028...0x202e, 0x2060...0x206f, 0xfeff,
      0xfff9...0xfffb:
      true
    default: false
    }
  }
}
