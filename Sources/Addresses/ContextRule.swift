/// The rules for characters that are allowed in some places only (RFC 5892 Appendix A).
enum ContextRule {
  /// Returns whether the character at `index`, of derived property CONTEXTJ or CONTEXTO, may stand there. One without a
  /// rule may not (RFC 8264 8).
  static func permits(_ scalars: [Unicode.Scalar], at index: Int) -> Bool {
    let before = index > scalars.startIndex ? scalars[index - 1] : nil
    let after = index + 1 < scalars.endIndex ? scalars[index + 1] : nil
    switch scalars[index] {
    case "\u{200C}":  // A.1, ZERO WIDTH NON-JOINER
      return isVirama(before) || breaksJoin(scalars, at: index)
    case "\u{200D}":  // A.2, ZERO WIDTH JOINER
      return isVirama(before)
    case "\u{B7}":  // A.3, MIDDLE DOT: Catalan, between two l
      return before == "l" && after == "l"
    case "\u{375}":  // A.4, GREEK LOWER NUMERAL SIGN (KERAIA)
      return after?.scriptGroup == .greek
    case "\u{5F3}", "\u{5F4}":  // A.5, A.6, HEBREW GERESH and GERSHAYIM
      return before?.scriptGroup == .hebrew
    case "\u{30FB}":  // A.7, KATAKANA MIDDLE DOT
      return scalars.contains { $0.scriptGroup == .japanese }
    case "\u{660}"..."\u{669}":  // A.8, ARABIC-INDIC DIGITS
      return !scalars.contains { ("\u{6F0}"..."\u{6F9}").contains($0) }
    case "\u{6F0}"..."\u{6F9}":  // A.9, EXTENDED ARABIC-INDIC DIGITS
      return !scalars.contains { ("\u{660}"..."\u{669}").contains($0) }
    default:
      return false
    }
  }

  private static func isVirama(_ scalar: Unicode.Scalar?) -> Bool { scalar?.combiningClass == 9 }

  /// Returns whether letters that would join stand on both sides; transparent ones between are skipped.
  private static func breaksJoin(_ scalars: [Unicode.Scalar], at index: Int) -> Bool {
    let before = scalars[..<index].last { $0.joiningType != .transparent }?.joiningType
    let after = scalars[(index + 1)...].first { $0.joiningType != .transparent }?.joiningType
    return (before == .left || before == .dual) && (after == .right || after == .dual)
  }
}
