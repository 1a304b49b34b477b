/// The looks of a nick, by the skeletons of UTS #39, to refuse copies of the nicks in a room (decision 0048).
///
/// Two nicks look alike if their skeletons are equal: as they are written, or both in lower case, or both in upper case,
/// since nicks are compared without regard to case. Two people may have such nicks. Which of them is a copy is decided by
/// the scripts: letters of several scripts in one nick, or characters outside ASCII that look like others of the same
/// script. A whole nick in another script (Ivan's "Оса" in Cyrillic beside "Oca"), one that differs in characters of ASCII
/// alone ("Al" beside "AI", "Al Müller" beside "AI Müller"), and one of the same script with another number ("Анна 3"
/// beside "Анна З") are names of their own.
public struct NickLook: Equatable, Sendable {
  // The hashes of texts, as a room has many nicks. They are compared in one process only.
  private struct Form: Equatable, Sendable {
    let skeleton: Int
    /// The skeleton of the characters of ASCII, between all others as they are.
    let ofASCII: Int

    init(_ scalars: [Unicode.Scalar]) {
      skeleton = NickLook.hash(NickLook.skeleton(of: scalars))
      var ofASCII: [Unicode.Scalar] = []
      for scalar in scalars {
        if scalar.isASCII {
          UnicodeTables.appendPrototype(of: scalar, to: &ofASCII)
        } else {
          ofASCII.append(scalar)
        }
      }
      self.ofASCII = NickLook.hash(ofASCII)
    }

    /// Whether the two look alike by characters beyond ASCII.
    func resembles(_ other: Form) -> Bool { skeleton == other.skeleton && ofASCII != other.ofASCII }
  }

  private let written: Form
  private let lower: Form
  private let upper: Form
  /// The only script of the letters, Latin if there are no letters; `nil` for several (UTS #39, 5.1).
  private let script: UInt8?
  /// The digits by their values, since people of one name have numbers, which the server appends, or initials.
  private let digits: Int

  /// - Parameter nick: a nick by the profile Nickname (`Precis.nickname`).
  public init(_ nick: String) {
    let scalars = Array(nick.unicodeScalars)
    written = Form(scalars)
    lower = Form(scalars.map { UnicodeTables.lowercase(of: $0) })
    upper = Form(scalars.map { Self.uppercase($0) })
    let scripts = scalars.map(\.nickScript).filter { $0 != 0 }
    let first = scripts.first ?? ("a" as Unicode.Scalar).nickScript
    script = scripts.allSatisfy { $0 == first } ? first : nil
    let values = scalars.map(\.properties).filter { $0.numericType == .decimal }.map(\.numericValue)
    var hasher = Hasher()
    hasher.combine(values)
    digits = hasher.finalize()
  }

  /// Numbers of which nicks that look alike have at least one in common.
  public var hashes: Set<Int> { [written.skeleton, lower.skeleton, upper.skeleton] }

  /// Whether this nick is a copy of one that somebody has already. A nick of several scripts is a copy of every nick that
  /// it looks like, but that nick is no copy of it: the person whose name was copied may enter later.
  public func isCopy(of other: NickLook) -> Bool {
    guard written.resembles(other.written) || lower.resembles(other.lower) || upper.resembles(other.upper) else {
      return false
    }
    guard let script else { return true }
    return script == other.script && digits == other.digits
  }

  /// Whether two names look alike as they are written, whatever their scripts.
  public func looks(like other: NickLook) -> Bool { written == other.written }

  /// Whether a name is beyond the level "Highly Restrictive" (UTS #39, 5.2): its letters are of several scripts, other than
  /// those of East Asia with or without Latin ones. Scripts are taken as in `script` (decision 0048).
  public static func isMixed(_ name: String) -> Bool {
    let latin = ("a" as Unicode.Scalar).nickScript
    let eastAsian = ("\u{6F22}" as Unicode.Scalar).nickScript
    let scripts = Set(name.unicodeScalars.map(\.nickScript)).subtracting([0])
    return scripts.count > 1 && scripts != [latin, eastAsian]
  }

  /// Returns the skeleton (UTS #39, 4).
  static func skeleton(of scalars: [Unicode.Scalar]) -> [Unicode.Scalar] {
    var skeleton: [Unicode.Scalar] = []
    for scalar in Normalization.formD(scalars)
    where scalar.isASCII || !scalar.properties.isDefaultIgnorableCodePoint {
      UnicodeTables.appendPrototype(of: scalar, to: &skeleton)
    }
    return Normalization.formD(skeleton)
  }

  private static func hash(_ scalars: [Unicode.Scalar]) -> Int {
    var hasher = Hasher()
    for scalar in scalars { hasher.combine(scalar) }
    return hasher.finalize()
  }

  /// Returns the upper-case form. Where it has several characters the letter stays: "Weiß" and "Weiss" are two names.
  private static func uppercase(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
    if scalar.isASCII {
      return ("a"..."z").contains(scalar) ? Unicode.Scalar(UInt8(scalar.value) & 0xDF) : scalar
    }
    let mapped = scalar.properties.uppercaseMapping.unicodeScalars
    return mapped.count == 1 ? mapped.first ?? scalar : scalar
  }
}
