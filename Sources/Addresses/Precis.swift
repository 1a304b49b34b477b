/// The reason why a string does not conform to a PRECIS profile.
public enum PrecisError: Error, Hashable, Sendable {
  /// There are no characters, or none are left after mapping.
  case empty
  /// It is longer than `AddressLimits.profileInputBytes` octets.
  case tooLong
  /// It has a character that the profile forbids, everywhere or in this place.
  case disallowed(Unicode.Scalar)
  /// Writing directions are mixed in a way RFC 5893 2 forbids.
  case bidi
  /// The rules, applied four times, do not settle on one string (RFC 8264 7).
  case unstable
}

/// PRECIS: preparation, enforcement and comparison of internationalised strings (RFC 8264), in the profiles XMPP uses.
///
/// Each function enforces its profile: it returns the one string that stands for all equivalent ones, or throws. Two
/// inputs are equivalent if the outputs are the same octets, and enforcing an output again changes nothing.
///
/// The rules are applied in the order of RFC 8264 7: width, additional and case mapping, normalisation, direction, and
/// last the check of the resulting characters. Characters are therefore judged after mapping, not before, as RFC 7622 4
/// asks ("where possible, map characters and accept the mapped string"): decomposed Hangul or an ANGSTROM SIGN in an
/// identifier is accepted as the letter it maps to.
///
/// The data is of the Unicode version in `UnicodeTables.version`; characters assigned later are refused.
public enum Precis {
  /// Enforces UsernameCaseMapped (RFC 8265 3.3): user names, and localparts of JIDs, which exclude eight more
  /// characters.
  public static func usernameCaseMapped(_ string: String) throws(PrecisError) -> String {
    if isPlain(string, spaces: false, capitals: false) { return string }
    let input = try scalars(of: string)
    let scalars = try settle(input) { scalars in
      var mapped: [Unicode.Scalar] = []
      for scalar in scalars { Normalization.appendWidthMapped(scalar, to: &mapped) }
      return Normalization.formC(lowercase(mapped))
    }
    try check(scalars, isFreeform: false)
    guard !Bidi.isRightToLeft(scalars) || Bidi.permits(scalars) else { throw .bidi }
    return scalars == input ? string : makeString(scalars)
  }

  /// Enforces OpaqueString (RFC 8265 4.2): passwords. Case, width and inner spaces are kept.
  public static func opaqueString(_ string: String) throws(PrecisError) -> String {
    if isPlain(string, spaces: true, capitals: true) { return string }
    let input = try scalars(of: string)
    let scalars = try settle(input) { Normalization.formC($0.map(asciiSpace)) }
    try check(scalars, isFreeform: true)
    return scalars == input ? string : makeString(scalars)
  }

  /// Enforces OpaqueString after invisible characters are removed (`InvisibleCharacters`): resourceparts.
  public static func resource(_ string: String) throws(PrecisError) -> String {
    if isPlain(string, spaces: true, capitals: true) { return string }
    let input = try scalars(of: string)
    let visible = InvisibleCharacters.removed(from: input, keepsJoiners: true)
    return try opaqueString(visible == input ? string : makeString(visible))
  }

  /// Enforces Nickname for display (RFC 8266 2.3): outer spaces are removed and inner ones merged, characters take
  /// their compatibility form, case is kept. Invisible characters are removed.
  public static func nickname(_ string: String) throws(PrecisError) -> String {
    if isPlain(string, spaces: false, capitals: true) { return string }
    let input = try scalars(of: string)
    let scalars = try settle(input) {
      Normalization.formKC(singleSpaced(InvisibleCharacters.removed(from: $0, keepsJoiners: true)))
    }
    try check(scalars, isFreeform: true)
    return scalars == input ? string : makeString(scalars)
  }

  /// Enforces Nickname for comparison (RFC 8266 2.4): as `nickname(_:)`, in lower case, without any invisible character.
  /// Nicknames with equal keys are the same.
  public static func nicknameKey(_ string: String) throws(PrecisError) -> String {
    if isPlain(string, spaces: false, capitals: false) { return string }
    let input = try scalars(of: string)
    let scalars = try settle(input) {
      Normalization.formKC(lowercase(singleSpaced(InvisibleCharacters.removed(from: $0, keepsJoiners: false))))
    }
    try check(scalars, isFreeform: true)
    return scalars == input ? string : makeString(scalars)
  }

  // MARK: Rules

  /// Returns whether no rule changes the string because it is short printable ASCII: the common case, without tables.
  private static func isPlain(_ string: String, spaces: Bool, capitals: Bool) -> Bool {
    let utf8 = string.utf8
    return (1...AddressLimits.profileInputBytes).contains(utf8.count)
      && utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): capitals
        case UInt8(ascii: " "): spaces
        case 0x21...0x7E: true
        default: false
        }
      }
  }

  private static func scalars(of string: String) throws(PrecisError) -> [Unicode.Scalar] {
    guard string.utf8.count <= AddressLimits.profileInputBytes else { throw .tooLong }
    return Array(string.unicodeScalars)
  }

  /// Applies mapping and normalisation until nothing changes (RFC 8264 7).
  static func settle(
    _ input: [Unicode.Scalar], _ pass: ([Unicode.Scalar]) -> [Unicode.Scalar]
  ) throws(PrecisError) -> [Unicode.Scalar] {
    var scalars = input
    for _ in 0..<AddressLimits.profilePasses {
      let next = pass(scalars)
      if next == scalars { return scalars }
      scalars = next
    }
    guard pass(scalars) == scalars else { throw .unstable }
    return scalars
  }

  /// Checks the string class, IdentifierClass (RFC 8264 4.2) or FreeformClass (4.3), and that the string is not empty.
  private static func check(_ scalars: [Unicode.Scalar], isFreeform: Bool) throws(PrecisError) {
    if scalars.isEmpty { throw .empty }
    for (index, scalar) in scalars.enumerated() {
      let isAllowed =
        switch scalar.derivedProperty {
        case .valid: true
        case .freeform, .space: isFreeform
        case .contextJ, .contextO: ContextRule.permits(scalars, at: index)
        case .disallowed: false
        }
      guard isAllowed else { throw .disallowed(scalar) }
    }
  }

  private static func lowercase(_ scalars: [Unicode.Scalar]) -> [Unicode.Scalar] {
    var out: [Unicode.Scalar] = []
    out.reserveCapacity(scalars.count)
    for scalar in scalars { scalar.appendLowercase(to: &out) }
    return out
  }

  private static func asciiSpace(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
    scalar.value >= 0xA0 && scalar.derivedProperty == .space ? " " : scalar
  }

  /// Applies RFC 8266 2.1, 2: every space becomes U+0020, outer ones are removed, inner ones are merged. Blank
  /// characters are spaces.
  private static func singleSpaced(_ scalars: [Unicode.Scalar]) -> [Unicode.Scalar] {
    var out: [Unicode.Scalar] = []
    for scalar in scalars.lazy.map({ InvisibleCharacters.isBlank($0) ? " " : asciiSpace($0) })
    where scalar != " " || (!out.isEmpty && out.last != " ") {
      out.append(scalar)
    }
    if out.last == " " { out.removeLast() }
    return out
  }

  static func makeString(_ scalars: some Sequence<Unicode.Scalar>) -> String {
    var string = String.UnicodeScalarView()
    string.append(contentsOf: scalars)
    return String(string)
  }
}
