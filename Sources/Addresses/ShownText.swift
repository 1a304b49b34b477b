import Basics

/// The rule by which names and texts of others are shown: names lose the characters that hide or reorder their surroundings,
/// and both lose marks that are stacked too high. The doors send names as they were written, since each client shows them in its own way; the
/// server applies the rule where it writes what is shown itself: notifications, sentences, pages. The web client has the
/// same rule (`Tests/Vectors/names.json`), and beside it the one for names that look alike: only where a name is shown is
/// it known which others are.
public enum ShownText {
  /// The scalars of a name; the rest is cut off.
  private static let nameMax = 120
  /// The marks that may stand one after the other: of those that stack on a letter of any script, and of all. The words
  /// of living scripts have up to nine: Burmese vowels and tones, Tibetan letters below others, Hebrew points with accents.
  private static let stackingMax = 4
  private static let marksMax = 10

  /// Returns a name as it is shown, in one line; `nil` if nothing of it is visible.
  public static func name(_ text: String) -> String? {
    if isPlain(text) { return text }
    let visible = text.unicodeScalars.map { isBreak($0) ? " " : $0 }.filter { !Line.hides($0) }
    var line: [Unicode.Scalar] = []
    for scalar in bounded(visible) {
      if !scalar.properties.isWhitespace {
        line.append(scalar)
      } else if let last = line.last, last != " " {
        line.append(" ")
      }
    }
    line = Array(line.prefix(nameMax))
    if line.last == " " { line.removeLast() }
    let name = Precis.makeString(line)
    return name.showsNothing ? nil : name
  }

  /// Returns a text of several lines as it is shown.
  public static func text(_ text: String) -> String {
    if text.utf8.allSatisfy({ (0x20...0x7E).contains($0) || $0 == 0x0A }) { return text }
    return Precis.makeString(
      bounded(
        text.unicodeScalars.filter { scalar in
          switch scalar.value {
          case 0x09, 0x0A: true
          case 0..<0x20, 0x7F..<0xA0: false
          default: true
          }
        }))
  }

  // MARK: Rules

  /// Whether no rule changes the name: the common case.
  private static func isPlain(_ text: String) -> Bool {
    let utf8 = text.utf8
    return (1...nameMax).contains(utf8.count) && utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }

  /// Line breaks and tabs, which are gaps between words.
  private static func isBreak(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x09...0x0D, 0x85, 0x2028, 0x2029: true
    default: false
    }
  }

  /// Cuts towers of marks.
  private static func bounded(_ scalars: some Sequence<Unicode.Scalar>) -> [Unicode.Scalar] {
    var kept: [Unicode.Scalar] = []
    var stacking = 0
    var marks = 0
    for scalar in scalars {
      stacking = stacks(scalar) ? stacking + 1 : 0
      if stacking > stackingMax { continue }
      marks = isMark(scalar) ? marks + 1 : 0
      if marks <= marksMax { kept.append(scalar) }
    }
    return kept
  }

  /// Whether a mark stacks on letters of any script, so that no word needs many: accents, marks of symbols, half marks.
  private static func stacks(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x300...0x36F, 0x488, 0x489, 0x1AB0...0x1AFF, 0x1DC0...0x1DFF, 0x20D0...0x20FF, 0xFE20...0xFE2F: true
    default: false
    }
  }

  private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .spacingMark, .enclosingMark: true
    default: false
    }
  }
}
