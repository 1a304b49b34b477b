/// The bounds of this target.
public enum AddressLimits {
  /// The octets of a localpart, domainpart or resourcepart after normalisation (RFC 7622 3.2, 3.3, 3.4).
  public static let partBytes = 1023

  /// The octets of a whole JID: three parts and two separators (RFC 7622 3.1).
  public static let jidBytes = 3 * partBytes + 2

  /// The octets accepted before normalisation, for one part of a JID, a password or a nickname. The limits of RFC 7622
  /// hold after normalisation, which can shorten a string (full-width letters and conjoining Hangul, three octets to
  /// one), so a longer input may be valid; but input must be bounded before any work is spent on it, and no mapping
  /// gains more than fourfold.
  public static let profileInputBytes = 4 * partBytes

  /// The octets of a label of a domain, in ASCII or as an A-label (RFC 7622 3.2, RFC 1034 3.1, RFC 5890 2.3.2.1). It
  /// also bounds the quadratic work of the codec.
  static let labelBytes = 63

  /// The passes after which a profile counts as unstable: one, and three more (RFC 8264 7).
  static let profilePasses = 4
}
