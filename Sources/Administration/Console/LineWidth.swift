import Basics

extension Line {
  /// Returns the number of terminal columns that the text occupies: East Asian wide characters and emoji take two,
  /// combining ones none.
  static func width(_ text: String) -> Int {
    text.reduce(0) { sum, character in
      guard let scalar = character.unicodeScalars.first else { return sum }
      if scalar.properties.generalCategory == .nonspacingMark { return sum }
      return sum + (isWide(scalar) || scalar.properties.isEmojiPresentation ? 2 : 1)
    }
  }

  private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x1100...0x115f, 0x2e80...0x303e, 0x3041...0xa4cf, 0xac00...0xd7a3, 0xf900...0xfaff, 0xfe30...0xfe6f,
      0xff00...0xff60, 0xffe0...0xffe6, 0x20000...0x3fffd:
      true
    default: false
    }
  }
}
