import Glibc

/// A range of IP addresses: `10.0.0.0/8`, `fd00::/8`, or one address alone.
public struct Network: Hashable, Sendable {
  /// The address: 4 or 16 bytes.
  let bytes: [UInt8]
  let prefix: Int

  /// Parses a range; `nil` if it is invalid.
  public init?(_ text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let bytes = Self.address(String(parts[0])) else { return nil }
    var prefix = bytes.count * 8
    if parts.count == 2 {
      guard let given = Int(parts[1]), (0...prefix).contains(given) else { return nil }
      prefix = given
    }
    self.bytes = bytes
    self.prefix = prefix
  }

  func contains(_ address: [UInt8]) -> Bool {
    guard address.count == bytes.count else { return false }
    let (whole, rest) = (prefix / 8, prefix % 8)
    guard address[..<whole] == bytes[..<whole] else { return false }
    return rest == 0 || (address[whole] ^ bytes[whole]) >> (8 - rest) == 0
  }

  private static func address(_ text: String) -> [UInt8]? {
    var four = in_addr()
    if inet_pton(AF_INET, text, &four) == 1 { return withUnsafeBytes(of: &four) { Array($0) } }
    var sixteen = in6_addr()
    if inet_pton(AF_INET6, text, &sixteen) == 1 { return withUnsafeBytes(of: &sixteen) { Array($0) } }
    return nil
  }
}

/// The addresses that a user's URL may lead to: public ones. All others may belong to machines that trust this one.
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
  let exceptions: [Network]
  public init(exceptions: [Network] = []) { self.exceptions = exceptions }

  /// Returns whether an address of 4 or 16 bytes is allowed.
  func allows(_ address: [UInt8]) -> Bool {
    // ::ffff:a.b.c.d is IPv4.
    if address.count == 16, address[..<10].allSatisfy({ $0 == 0 }), address[10] == 0xff, address[11] == 0xff {
      return allows(Array(address[12...]))
    }
    if exceptions.contains(where: { $0.contains(address) }) { return true }
    if address.count == 16, Self.global?.contains(address) != true { return false }
    return !Self.special.contains { $0.contains(address) }
  }
}
