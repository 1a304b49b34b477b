/// The rule for texts that XMPP clients get too, whichever door they come by.
public enum PlainText {
  /// Checks a text: XML 1.0 2.2 excludes most control characters, even escaped.
  public static func check(_ text: String, field: String) throws(Problem) {
    // Nearly all texts have neither, so a simple scan comes first.
    var text = text
    if text.withUTF8({ $0.allSatisfy { $0 >= 0x20 && $0 != 0xef } }) { return }
    var previous: (UInt8, UInt8) = (0, 0)
    for byte in text.utf8 {
      let isControl = byte < 0x20 && byte != 0x09 && byte != 0x0a && byte != 0x0d
      // U+FFFE and U+FFFF: EF BF BE, EF BF BF.
      let isNoncharacter = previous == (0xef, 0xbf) && byte >= 0xbe
      if isControl || isNoncharacter {
        throw Problem(
          .malformed, "character-not-allowed", "\(field) holds a control character, which is not allowed.", field: field
        )
      }
      previous = (previous.1, byte)
    }
  }
}
