import Accounts
import Addresses
import Basics
import Dialogs

/// A sender of mail: `Parley <parley@example.org>`, or an address alone.
public struct Mailbox: Hashable, Sendable {
  public let name: String?
  public let address: String

  init?(_ text: String) {
    var written = text.trimmed
    var name: String?
    if written.hasSuffix(">"), let open = written.lastIndex(of: "<") {
      name = String(written[..<open]).trimmed
      written = String(written[written.index(after: open)...].dropLast())
    }
    guard let identity = try? Identity.email(written) else { return nil }
    if let name,
      name.isEmpty || name.unicodeScalars.contains(where: { $0.value < 0x20 || "\"<>\\".unicodeScalars.contains($0) })
    {
      return nil
    }
    self.name = name
    address = Self.mailable(identity.subject)
  }

  /// Returns the address with its domain in the form for mail servers without SMTPUTF8 (RFC 5891 4.4).
  package static func mailable(_ address: String) -> String {
    guard let at = address.lastIndex(of: "@") else { return address }
    return address[...at] + AsciiDomain.of(String(address[address.index(after: at)...]))
  }
}
