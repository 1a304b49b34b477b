import Accounts
import Dialogs

extension SettingsReader {
  /// Reads the version of the terms; nil if there are none.
  mutating func terms() -> String? {
    let version = read(keys.termsVersion)
    if version.utf8.count > AccountLimits.termsVersionBytesMax {
      reject(keys.termsVersion, "has more than \(AccountLimits.termsVersionBytesMax) bytes")
    }
    return version.isEmpty ? nil : version
  }
}
