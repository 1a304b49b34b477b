/// Folds text for comparison in a search: compatibility forms are decomposed (UAX #15, so that full-width and composed
/// letters match their plain forms), the accents of Latin, Greek and Cyrillic are removed, and the rest is in lower
/// case. The marks of other scripts are parts of their words. The web client has the same rule
/// (`Tests/Vectors/names.json`).
public enum TextFolding {
  public static func folded(_ text: String) -> [Unicode.Scalar] {
    var folded: [Unicode.Scalar] = []
    folded.reserveCapacity(text.utf8.count)
    for scalar in text.unicodeScalars { append(scalar, to: &folded) }
    return folded
  }

  /// Appends what becomes of one scalar, which does not depend on its neighbours: up to some twenty scalars.
  public static func append(_ scalar: Unicode.Scalar, to folded: inout [Unicode.Scalar]) {
    if scalar.value < 0x80 { return folded.append(lowercase(scalar)) }
    for part in Normalization.formKD(CollectionOfOne(scalar)) where !(0x300...0x36F).contains(part.value) {
      if part.value < 0x80 {
        folded.append(lowercase(part))
      } else {
        folded += part.properties.lowercaseMapping.unicodeScalars
      }
    }
  }

  /// Returns the lower case of a scalar of ASCII.
  private static func lowercase(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
    (0x41...0x5A).contains(scalar.value) ? Unicode.Scalar(UInt8(scalar.value) | 0x20) : scalar
  }
}
