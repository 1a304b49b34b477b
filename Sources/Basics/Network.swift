/// A range of IP addresses: `10.0.0.0/8`, `fd00::/8`, or one address alone.
public struct Network: Hashable, Sendable {
  private let address: IPAddress
  private let prefix: Int

  /// Parses a range; `nil` if it is invalid.
  public init?(_ text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let address = IPAddress(String(parts[0])) else { return nil }
    var prefix = address.bytes.count * 8
    if parts.count == 2 {
      guard let given = Int(parts[1]), (0...prefix).contains(given) else { return nil }
      prefix = given
    }
    self.address = address
    self.prefix = prefix
  }

  /// Whether the range has no part of a /64 of IPv6, which the bounds of clients take as one network.
  public var hasWholeNetworks: Bool { !address.isIPv6 || prefix <= 64 }

  /// An IPv4 address in the form of IPv6 (`IPAddress.mappedIPv4`) is in no range of IPv4.
  public func contains(_ other: IPAddress) -> Bool {
    let (mine, its) = (address.bytes, other.bytes)
    guard mine.count == its.count else { return false }
    let (whole, rest) = (prefix / 8, prefix % 8)
    guard its[..<whole] == mine[..<whole] else { return false }
    return rest == 0 || (its[whole] ^ mine[whole]) >> (8 - rest) == 0
  }
}

/// The addresses that a name or URL given by others may lead to: public ones. All others may belong to machines that
/// trust this one.
public struct PublicAddresses: Sendable {
  /// The ranges without hosts, or with local ones (IANA's special-purpose registries, RFC 6890).
  private static let special: [Network] = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "224.0.0.0/4", "240.0.0.0/4",
    // Within 2000::/3: Teredo and 6to4 wrap IPv4, the rest documents, measures or routes by hash.
    "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
  ].compactMap { Network($0) }
  private static let global = Network("2000::/3")

  /// The ranges that the operator allows nonetheless.
  private let exceptions: [Network]

  public init(exceptions: [Network] = []) { self.exceptions = exceptions }

  /// Returns whether a connection may go to an address.
  public func allows(_ address: IPAddress) -> Bool {
    if let wrapped = address.mappedIPv4 { return allows(wrapped) }
    if exceptions.contains(where: { $0.contains(address) }) { return true }
    if address.isIPv6, Self.global?.contains(address) != true { return false }
    return !Self.special.contains { $0.contains(address) }
  }

  /// Returns whether a request to a URL may be made, as far as the URL itself shows it: `false` if its host is an address to
  /// which no connection may go. A name is judged when a connection to one of its addresses is made.
  public func allows(url: String) -> Bool {
    // RFC 3986 3.2: the authority is between `//` and the path.
    let parts = url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3 else { return true }
    let authority = parts[2].prefix { !"/?#".contains($0) }
    let isBracketed = authority.hasPrefix("[")
    let host = (isBracketed ? authority.dropFirst() : authority).prefix { $0 != (isBracketed ? "]" : ":") }
    return IPAddress(host: String(host)).map { allows($0) } ?? true
  }
}
