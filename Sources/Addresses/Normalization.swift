/// The Unicode normalisation forms C and KC (UAX #15), and the width mapping that PRECIS takes from the same data.
///
/// A string is decomposed by the one-step mappings of the character database, each applied to its own result until none
/// applies; runs of combining marks are put into canonical order; then adjacent pairs are composed again, for C and KC
/// alike by canonical pairs only. Hangul syllables follow arithmetic, not tables (The Unicode Standard, 3.12).
///
/// The standard library normalises too, but offers it under an underscored interface only, and with whatever Unicode
/// version the toolchain has; stored addresses must not change with it.
enum Normalization {
  /// The kinds of one-step mappings.
  private enum Mapping: UInt64 {
    case canonical = 1
    case compatible = 2
    /// A compatibility mapping of a full-width or half-width form.
    case width = 3
  }

  static func formC(_ scalars: [Unicode.Scalar]) -> [Unicode.Scalar] {
    // Nearly all text is in form C already, which a look at each scalar alone mostly proves (UAX #15, 9).
    let isSettled = scalars.allSatisfy {
      $0.value < 0x300 || UnicodeTables.value(of: $0, in: UnicodeTables.unsettled) == 0
    }
    return isSettled ? scalars : normalise(scalars, compatible: false)
  }

  static func formKC(_ scalars: [Unicode.Scalar]) -> [Unicode.Scalar] { normalise(scalars, compatible: true) }

  /// Returns form KD without its canonical order of marks, which an approximate comparison does not need.
  static func formKD(_ scalars: some Sequence<Unicode.Scalar>) -> [Unicode.Scalar] {
    var out: [Unicode.Scalar] = []
    for scalar in scalars { appendDecomposition(scalar, true, to: &out) }
    return out
  }

  /// Returns form D.
  static func formD(_ scalars: [Unicode.Scalar]) -> [Unicode.Scalar] {
    if scalars.allSatisfy({ $0.value < 0xA0 }) { return scalars }
    var out: [Unicode.Scalar] = []
    for scalar in scalars { appendDecomposition(scalar, false, to: &out) }
    order(&out)
    return out
  }

  /// Replaces a full-width or half-width form by its decomposition mapping (RFC 8264 5.2.1).
  static func appendWidthMapped(_ scalar: Unicode.Scalar, to out: inout [Unicode.Scalar]) {
    if scalar.value >= 0x3000, appendStep(scalar, to: &out, if: { $0 == .width }) { return }
    out.append(scalar)
  }

  private static func normalise(_ scalars: [Unicode.Scalar], compatible: Bool) -> [Unicode.Scalar] {
    var out: [Unicode.Scalar] = []
    out.reserveCapacity(scalars.count)
    for scalar in scalars { appendDecomposition(scalar, compatible, to: &out) }
    order(&out)
    compose(&out)
    return out
  }

  // MARK: Decomposition

  /// Appends a full decomposition. Recursion ends because the database's mappings lead to ever simpler characters; the
  /// longest chain has four steps.
  private static func appendDecomposition(_ scalar: Unicode.Scalar, _ compatible: Bool, to out: inout [Unicode.Scalar])
  {
    if scalar.value < 0xA0 {
      out.append(scalar)
    } else if Hangul.syllables.contains(scalar.value) {
      Hangul.appendDecomposition(scalar, to: &out)
    } else {
      var step: [Unicode.Scalar] = []
      if appendStep(scalar, to: &step, if: { $0 == .canonical || compatible }) {
        for part in step { appendDecomposition(part, compatible, to: &out) }
      } else {
        out.append(scalar)
      }
    }
  }

  /// Appends the one-step mapping, if there is one of a kind that applies.
  private static func appendStep(
    _ scalar: Unicode.Scalar, to out: inout [Unicode.Scalar], if applies: (Mapping) -> Bool
  ) -> Bool {
    let runs = UnicodeTables.decompositions
    let index = UnicodeTables.firstIndex(in: runs, notBelow: UInt64(scalar.value + 1) << 43)
    guard index > 0 else { return false }
    let run = runs[index - 1]
    let position = Int(scalar.value) - Int(run >> 43)
    guard position < Int(run >> 31 & 0xFFF), let mapping = Mapping(rawValue: run >> 28 & 3), applies(mapping) else {
      return false
    }
    let first = Int(run & 0x3F_FFFF)
    if run >> 30 & 1 == 1 {
      append(UInt32(first + position), to: &out)
    } else {
      let length = Int(run >> 22 & 0x3F)
      for offset in first + position * length..<first + (position + 1) * length {
        append(UnicodeTables.decompositionPool[offset], to: &out)
      }
    }
    return true
  }

  private static func append(_ value: UInt32, to out: inout [Unicode.Scalar]) {
    if let scalar = Unicode.Scalar(value) { out.append(scalar) }
  }

  // MARK: Canonical order

  /// Sorts each run of scalars with a combining class other than 0 by that class, equal ones staying in place.
  private static func order(_ scalars: inout [Unicode.Scalar]) {
    var start = 0
    while start < scalars.count {
      if scalars[start].combiningClass == 0 {
        start += 1
        continue
      }
      // Class, place and scalar in one integer: sorting is then stable and stays fast for hostile, very long runs.
      var keys: [UInt64] = []
      var end = start
      while end < scalars.count, case let combiningClass = scalars[end].combiningClass, combiningClass != 0 {
        keys.append(UInt64(combiningClass) << 56 | UInt64(end - start) << 21 | UInt64(scalars[end].value))
        end += 1
      }
      if keys.count > 1 {
        keys.sort()
        for (offset, key) in keys.enumerated() {
          scalars[start + offset] = Unicode.Scalar(UInt32(key & 0x1F_FFFF)) ?? scalars[start + offset]
        }
      }
      start = end
    }
  }

  // MARK: Composition

  private static func compose(_ scalars: inout [Unicode.Scalar]) {
    var count = 0  // scalars kept so far, at the front of the array
    var starter: Int?
    var previousClass: UInt8 = 0
    for index in scalars.indices {
      let scalar = scalars[index]
      let combiningClass = scalar.combiningClass
      if let starter {
        // Blocked when something of the same or a higher class, or another starter, stands between (UAX #15, D115).
        let isAdjacent = starter == count - 1
        if isAdjacent || previousClass < combiningClass && previousClass != 0,
          let composite = composite(scalars[starter], scalar)
        {
          scalars[starter] = composite
          continue
        }
      }
      if combiningClass == 0 { starter = count }
      previousClass = combiningClass
      scalars[count] = scalar
      count += 1
    }
    scalars.removeLast(scalars.count - count)
  }

  private static func composite(_ first: Unicode.Scalar, _ second: Unicode.Scalar) -> Unicode.Scalar? {
    if second.value < 0x300 { return nil }  // no pair ends below
    if let syllable = Hangul.composite(first, second) { return syllable }
    let pair = UInt64(first.value) << 42 | UInt64(second.value) << 21
    let table = UnicodeTables.compositions
    let index = UnicodeTables.firstIndex(in: table, notBelow: pair)
    guard index < table.count, table[index] & ~0x1F_FFFF == pair else { return nil }
    return Unicode.Scalar(UInt32(table[index] & 0x1F_FFFF))
  }
}

/// Hangul syllables (The Unicode Standard, 3.12).
private enum Hangul {
  static let syllables: Range<UInt32> = base..<base + 19 * perLead
  private static let base: UInt32 = 0xAC00
  private static let leads: Range<UInt32> = 0x1100..<0x1100 + 19
  private static let vowels: Range<UInt32> = 0x1161..<0x1161 + 21
  /// The first value stands for "no tail".
  private static let tails: Range<UInt32> = 0x11A7..<0x11A7 + 28
  private static let perVowel: UInt32 = 28
  private static let perLead: UInt32 = 21 * 28

  static func appendDecomposition(_ syllable: Unicode.Scalar, to out: inout [Unicode.Scalar]) {
    let index = syllable.value - base
    let parts = [
      leads.lowerBound + index / perLead, vowels.lowerBound + index % perLead / perVowel,
      tails.lowerBound + index % perVowel,
    ]
    for part in parts where part != tails.lowerBound {
      if let scalar = Unicode.Scalar(part) { out.append(scalar) }
    }
  }

  static func composite(_ first: Unicode.Scalar, _ second: Unicode.Scalar) -> Unicode.Scalar? {
    let one = first.value
    let two = second.value
    if leads.contains(one), vowels.contains(two) {
      return Unicode.Scalar(base + (one - leads.lowerBound) * perLead + (two - vowels.lowerBound) * perVowel)
    }
    if syllables.contains(one), (one - base) % perVowel == 0, tails.contains(two), two != tails.lowerBound {
      return Unicode.Scalar(one + two - tails.lowerBound)
    }
    return nil
  }
}
