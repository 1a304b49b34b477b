/// Folds text for comparison in a search: compatibility forms are decomposed (UAX #15, so that full-width and composed
/// letters match their plain forms), the accents of Latin, Greek and Cyrillic are removed, and the rest is in lower
/// case. The marks of other scripts are parts of their words. The web client has the same rule
/// (`Tests/Vectors/names.json`).
public enum TextFolding {
  public static func folded(_ text: String) -> [Unicode.Scalar] {
    var folded: [Unicode.Scalar] = []
    folded.reserveCapacity(text.utf8.count)
    for scalar in Normalization.formKD(text.unicodeScalars) where !(0x300...0x36F).contains(scalar.value) {
      if scalar.value < 0x80 {
        let isUpper = (0x41...0x5A).contains(scalar.value)
        folded.append(isUpper ? Unicode.Scalar(UInt8(scalar.value) | 0x20) : scalar)
      } else {
        folded += scalar.properties.lowercaseMapping.unicodeScalars
      }
    }
    return folded
  }
}
