import Dialogs

extension SettingsReader {
  /// nil: no terms are asked for.
  mutating func terms() -> String? {
    let version = text(.termsVersion)
    if version.utf8.count > Limits.termsVersionBytesMax {
      mistake(.termsVersion, "has more than \(Limits.termsVersionBytesMax) bytes")
    }
    return version.isEmpty ? nil : version
  }
}
