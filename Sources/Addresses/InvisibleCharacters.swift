/// Characters that show nothing of their own. Phones type them within emoji and names: variation selectors ("❤️"), joiners
/// ("👩‍👩‍👧"), the tags of flags.
///
/// PRECIS disallows nearly all of them (RFC 8264 9.13), which would refuse such names altogether. In resourceparts and
/// nicknames they are mapped to nothing instead, as before by Resourceprep (RFC 3454 B.1): what is left is visible, so no
/// two names differ by what cannot be seen, and it conforms to the profile, which other servers and clients check. Emoji
/// lose their joins and colours by it, nothing else.
enum InvisibleCharacters {
  /// Returns the characters without the invisible ones.
  ///
  /// - Parameter keepsJoiners: whether joiners stay where the script needs them (RFC 5892 A.1, A.2). They do in
  ///   addresses; in comparisons of nicknames they do not count.
  static func removed(from scalars: [Unicode.Scalar], keepsJoiners: Bool) -> [Unicode.Scalar] {
    guard scalars.contains(where: { isRemoved($0) || isJoiner($0) }) else { return scalars }
    // A joiner's place is judged by its neighbours that stay. Another joiner is never one of these, so that one look at
    // each is enough.
    let rest = scalars.filter { !isRemoved($0) }
    return rest.indices.filter { !isJoiner(rest[$0]) || keepsJoiners && ContextRule.permits(rest, at: $0) }.map {
      rest[$0]
    }
  }

  private static func isJoiner(_ scalar: Unicode.Scalar) -> Bool { scalar == "\u{200C}" || scalar == "\u{200D}" }

  private static func isRemoved(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    // RFC 3454 B.1 without the joiners, and without U+1806, which is visible.
    case 0xAD, 0x34F, 0x200B, 0x2060, 0xFEFF: true
    // The variation selectors (The Unicode Standard, 23.4); the first and the third range are in B.1 too.
    case 0x180B...0x180D, 0x180F, 0xFE00...0xFE0F, 0xE0100...0xE01EF: true
    // The tags of emoji tag sequences (UTS 51, 1.4.6).
    case 0xE0020...0xE007F: true
    default: false
    }
  }

  /// Returns whether the character shows nothing though it is none of the above, nor a space by its category.
  static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "\u{2800}", "\u{13441}", "\u{13442}", "\u{16FE4}", "\u{1D159}": true
    default: false
    }
  }
}

extension String {
  /// Whether nothing of the text is visible: it is empty, or of white space and of characters that show nothing of their
  /// own (The Unicode Standard, 5.21).
  public var showsNothing: Bool {
    unicodeScalars.allSatisfy {
      $0.properties.isWhitespace || $0.properties.isDefaultIgnorableCodePoint || InvisibleCharacters.isBlank($0)
    }
  }
}
