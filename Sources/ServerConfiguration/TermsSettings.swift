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

  /// Reads the address of the page with the terms; nil if there is none.
  mutating func termsURL() -> String? {
    let url = read(keys.termsURL)
    if url.isEmpty {
      // Users would be asked to agree to a text that nobody shows them.
      if raw.values[keys.termsVersion.name]?.text.isEmpty == false {
        reject(keys.termsVersion, "terms.url must be set as well")
      }
      return nil
    }
    if !Host.isWebURL(url) { reject(keys.termsURL, "a URL such as https://www.example.org/terms is expected") }
    return url
  }
}
