/// Reads the contact addresses of the server (XEP-0157), and those of the file that tells of outages (XEP-0455).
extension SettingsReader {
  mutating func contacts() -> [String: [String]] {
    var contacts: [String: [String]] = [:]
    for key in keys.contacts {
      let addresses = read(key)
      if addresses.count > ConfigurationLimits.contactAddressesMax {
        reject(key, "at most \(ConfigurationLimits.contactAddressesMax) can be set")
      }
      for address in addresses where !Self.isURI(address) {
        reject(key, "\(address) is not a URI such as mailto:abuse@example.org or xmpp:admin@example.org")
      }
      if !addresses.isEmpty { contacts[String(key.name.dropFirst("contact.".count))] = addresses }
    }
    return contacts
  }

  mutating func outageAddresses() -> [String] {
    let addresses = read(keys.outageAddresses)
    if addresses.count > ConfigurationLimits.contactAddressesMax {
      reject(keys.outageAddresses, "at most \(ConfigurationLimits.contactAddressesMax) can be set")
    }
    for address in addresses where !Host.isWebURL(address) {
      reject(keys.outageAddresses, "\(address) is not a URL such as https://status.example.org/outage.json")
    }
    return addresses
  }

  /// Whether the text has the form of RFC 3986 3: a scheme and a non-empty rest of URI characters.
  private static func isURI(_ text: String) -> Bool {
    guard let colon = text.firstIndex(of: ":"), text.index(after: colon) < text.endIndex,
      let first = text.utf8.first, isLetter(first)
    else { return false }
    let scheme = text[..<colon].utf8.allSatisfy {
      isLetter($0) || (0x2b...0x2e).contains($0) && $0 != 0x2c || isDigit($0)
    }
    return scheme && text.unicodeScalars.allSatisfy { $0.value > 0x20 && !"<>\"\\^`{|}".unicodeScalars.contains($0) }
  }

  private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7a).contains(byte | 0x20) }
  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
