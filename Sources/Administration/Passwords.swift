import Accounts
import Dialogs

/// Generates passwords, and checks those that operators choose.
package enum Passwords {
  /// Characters that are easy to distinguish and type: no 0, o, 1, l, i.
  private static let letters = Array("abcdefghjkmnpqrstuvwxyz23456789")

  /// Returns why a chosen password is refused, by commands as by apps; nil if it is accepted.
  package static func flaw(of password: String) -> String? {
    do throws(Problem) {
      try Accounts.checkNew(password)
      return nil
    } catch {
      return error.text
    }
  }

  /// Returns the report of an import about short passwords, which it accepts; nil if there are none.
  package static func reported(short count: Int) -> String? {
    if count == 0 { return nil }
    let (verb, effect) =
      count == 1
      ? ("is", "It is accepted, because its user may use it in other clients.")
      : ("are", "They are accepted, because their users may use them in other clients.")
    return "\(ProgressBar.grouped(count)) of the imported passwords \(verb) shorter than apps and parley user add "
      + "allow. \(effect)"
  }

  /// Returns a password of four groups of five characters, with 99 random bits.
  package static func make() -> String {
    var generator = SystemRandomNumberGenerator()
    return (0..<4).map { _ in
      String((0..<5).map { _ in letters[Int.random(in: letters.indices, using: &generator)] })
    }.joined(separator: "-")
  }
}
