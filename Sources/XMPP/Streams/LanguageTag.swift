import XMLStream

/// Language tags, in the form of RFC 5646 2.1; they need not be registered.
public enum LanguageTag {
  /// Returns whether a text has the form of a language tag, whatever its length.
  public static func isWellFormed(_ text: String) -> Bool {
    text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false).allSatisfy { part in
      (1...8).contains(part.count) && part.allSatisfy(isAlphanumeric)
    }
  }

  private static func isAlphanumeric(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "A")...UInt8(ascii: "Z"):
      true
    default: false
    }
  }
}

extension StreamHeader {
  /// The language that is added to stanzas of the stream without their own (RFC 6120 4.7.4); `nil` for a value that is
  /// no language tag, which must not be written into stanzas (8.1.5).
  var defaultLanguage: String? {
    guard let language, language.utf8.count <= XMPPLimits.languageBytesMax, LanguageTag.isWellFormed(language) else {
      return nil
    }
    return language
  }
}
