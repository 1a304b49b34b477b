/// A domain as certificates, TLS's server name and mail servers write it (RFC 5280 7.2, RFC 6066 3): labels that are
/// not ASCII as A-labels, `xn--` and Punycode (RFC 3492).
package enum AsciiDomain {
  package static func of(_ domain: String) -> String {
    domain.split(separator: ".", omittingEmptySubsequences: false).map { label in
      label.utf8.allSatisfy { $0 < 0x80 } ? String(label) : "xn--" + Punycode.encode(Array(label.unicodeScalars))
    }.joined(separator: ".")
  }
}
