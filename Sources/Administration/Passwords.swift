/// Generates passwords.
package enum Passwords {
  /// Characters that are easy to distinguish and type: no 0, o, 1, l, i.
  private static let letters = Array("abcdefghjkmnpqrstuvwxyz23456789")

  /// Returns a password of four groups of five characters, with 99 random bits.
  package static func make() -> String {
    var generator = SystemRandomNumberGenerator()
    return (0..<4).map { _ in
      String((0..<5).map { _ in letters[Int.random(in: letters.indices, using: &generator)] })
    }.joined(separator: "-")
  }
}
