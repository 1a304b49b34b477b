/// The derived property of a code point (RFC 8264 8). Unassigned code points count as disallowed (RFC 8264 4.2.4,
/// 4.3.4).
enum DerivedProperty: UInt8 {
  case disallowed = 0
  /// PVALID: allowed in identifiers and free-form strings.
  case valid = 1
  /// ID_DIS or FREE_PVAL: allowed in free-form strings only.
  case freeform = 2
  /// Allowed as `freeform`, and of General_Category Zs, which the profiles map to U+0020.
  case space = 3
  /// CONTEXTJ and CONTEXTO: allowed where a rule of RFC 5892 Appendix A says so.
  case contextJ = 4
  case contextO = 5
}

/// The Bidi_Class groups that RFC 5893 2 distinguishes.
enum BidiClass: UInt8 {
  case leftToRight = 0
  /// R and AL, which the rule treats alike.
  case rightToLeft = 1
  case arabicNumber = 2
  case europeanNumber = 3
  /// ES, CS, ET, ON and BN: allowed inside any label.
  case neutral = 4
  case nonspacingMark = 5
  /// B, S, WS and the explicit formatting characters: allowed in no label.
  case other = 6
}

/// The Joining_Type, as far as RFC 5892 A.1 needs it.
enum JoiningType: UInt8 {
  case none = 0
  case left = 1
  case dual = 2
  case right = 3
  case transparent = 4
}

/// The scripts that RFC 5892 A.4-A.7 need; the table numbers all others too.
enum ScriptGroup: UInt8 {
  case other = 0
  case greek = 1
  case hebrew = 2
  /// Hiragana, Katakana and Han.
  case japanese = 3
}

extension Unicode.Scalar {
  var derivedProperty: DerivedProperty {
    if (0x21...0x7E).contains(value) { return .valid }  // RFC 8264 9.11
    return DerivedProperty(rawValue: UnicodeTables.value(of: self, in: UnicodeTables.derived)) ?? .disallowed
  }
  var bidiClass: BidiClass { BidiClass(rawValue: UnicodeTables.value(of: self, in: UnicodeTables.bidi)) ?? .other }
  var joiningType: JoiningType {
    JoiningType(rawValue: UnicodeTables.value(of: self, in: UnicodeTables.joining)) ?? .none
  }
  var scriptGroup: ScriptGroup {
    ScriptGroup(rawValue: UnicodeTables.value(of: self, in: UnicodeTables.script)) ?? .other
  }
  /// The number of the script, 0 for what is common to several. Those that Chinese, Japanese and Korean are written in
  /// together count as one.
  var nickScript: UInt8 {
    switch UnicodeTables.value(of: self, in: UnicodeTables.script) {
    // Hiragana, Katakana and Han; Hangul; Bopomofo.
    case 3...5: 3
    case let script: script
    }
  }
  var combiningClass: UInt8 { value < 0x300 ? 0 : UnicodeTables.value(of: self, in: UnicodeTables.combining) }
  var isMark: Bool { UnicodeTables.value(of: self, in: UnicodeTables.marks) == 1 }

  /// Whether RFC 5892 3 allows the code point in a label, once it has been mapped to lower case.
  var isAllowedInLabel: Bool {
    switch self {
    case "a"..."z", "0"..."9", "-": return true
    case "\u{0}"..."\u{7F}": return false
    default: break
    }
    switch derivedProperty {
    case .valid, .contextJ, .contextO: return UnicodeTables.value(of: self, in: UnicodeTables.idna) != 1
    case .disallowed, .freeform, .space: return false
    }
  }

  /// Whether a label keeps the code point although it has a lower-case form: RFC 5892 3 makes it PVALID as it is,
  /// because its script folds to upper case (Cherokee).
  var isLabelCapital: Bool { !isASCII && UnicodeTables.value(of: self, in: UnicodeTables.idna) == 2 }

  /// Appends the lower-case form (the Unicode toLowercase operation, without the rules that depend on a language or on
  /// the neighbours: RFC 8265 3.6 maps every capital sigma to U+03C3).
  func appendLowercase(to out: inout [Unicode.Scalar]) {
    switch value {
    case 0x41...0x5A: out.append(Unicode.Scalar(UInt8(truncatingIfNeeded: value) | 0x20))
    case 0..<0x80: out.append(self)
    case 0x130: out += ["\u{69}", "\u{307}"]  // SpecialCasing.txt
    default: out.append(UnicodeTables.lowercase(of: self))
    }
  }
}

extension UnicodeTables {
  /// Returns the value of the range that holds the scalar, 0 if none does.
  static func value(of scalar: Unicode.Scalar, in table: [UInt64]) -> UInt8 {
    // The last range that starts at or before the scalar: every such entry is below (scalar + 1) << 32.
    let index = firstIndex(in: table, notBelow: UInt64(scalar.value + 1) << 32)
    guard index > 0 else { return 0 }
    let entry = table[index - 1]
    return UInt32(truncatingIfNeeded: entry >> 8) & 0x1F_FFFF >= scalar.value ? UInt8(truncatingIfNeeded: entry) : 0
  }

  /// Returns the first index with an entry not below a bound, by binary search in a sorted table.
  static func firstIndex(in table: [UInt64], notBelow bound: UInt64) -> Int {
    var low = 0
    var high = table.count
    while low < high {
      let middle = (low + high) / 2
      if table[middle] < bound { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Appends the prototype of a confusable character (UTS #39, 4): the character itself if it has none.
  static func appendPrototype(of scalar: Unicode.Scalar, to out: inout [Unicode.Scalar]) {
    let index = firstIndex(in: skeletons, notBelow: UInt64(scalar.value) << 43)
    guard index < skeletons.count, skeletons[index] >> 43 == UInt64(scalar.value) else { return out.append(scalar) }
    let length = Int(skeletons[index] >> 22 & 0x1F_FFFF)
    let first = Int(skeletons[index] & 0x3F_FFFF)
    let values = length == 1 ? [UInt32(first)] : Array(skeletonPool[first..<first + length])
    out += values.compactMap { Unicode.Scalar($0) }
  }

  /// Returns the simple lower-case mapping.
  static func lowercase(of scalar: Unicode.Scalar) -> Unicode.Scalar {
    let index = firstIndex(in: lowercase, notBelow: UInt64(scalar.value + 1) << 43)
    guard index > 0 else { return scalar }
    let run = lowercase[index - 1]
    let start = UInt32(run >> 43)
    let end = UInt32(run >> 22 & 0x1F_FFFF)
    guard scalar.value <= end, run >> 21 & 1 == 0 || (scalar.value - start) & 1 == 0 else { return scalar }
    return Unicode.Scalar(scalar.value + UInt32(run & 0x1F_FFFF) - 0x10_0000) ?? scalar
  }
}
