/// The Bidi Rule (RFC 5893 2), which keeps strings of mixed direction from being displayed ambiguously.
enum Bidi {
  /// Returns whether the string has a character of type R, AL or AN: such strings must satisfy the rule (RFC 8265
  /// 3.3.1), and one such label makes every label of its domain subject to it (RFC 5893 1.4).
  static func isRightToLeft(_ scalars: some Sequence<Unicode.Scalar>) -> Bool {
    scalars.contains { scalar in
      scalar.value >= 0x590 && (scalar.bidiClass == .rightToLeft || scalar.bidiClass == .arabicNumber)
    }
  }

  /// Returns whether the six conditions of RFC 5893 2 hold.
  static func permits(_ scalars: some Collection<Unicode.Scalar>) -> Bool {
    guard let first = scalars.first?.bidiClass else { return true }
    var hasEuropeanNumber = false
    var hasArabicNumber = false
    var last = first  // apart from trailing marks
    for scalar in scalars {
      let bidiClass = scalar.bidiClass
      if bidiClass != .nonspacingMark { last = bidiClass }
      switch bidiClass {
      case .europeanNumber: hasEuropeanNumber = true
      case .arabicNumber: hasArabicNumber = true
      case .leftToRight: if first != .leftToRight { return false }  // conditions 1, 2
      case .rightToLeft: if first != .rightToLeft { return false }  // conditions 1, 5
      case .neutral, .nonspacingMark: break
      case .other: return false  // conditions 2, 5
      }
    }
    switch first {
    case .rightToLeft:
      // Conditions 3 and 4.
      return (last == .rightToLeft || last == .europeanNumber || last == .arabicNumber)
        && !(hasEuropeanNumber && hasArabicNumber)
    case .leftToRight:
      // Conditions 5 and 6.
      return (last == .leftToRight || last == .europeanNumber) && !hasArabicNumber
    case .arabicNumber, .europeanNumber, .neutral, .nonspacingMark, .other:
      return false  // condition 1
    }
  }
}
