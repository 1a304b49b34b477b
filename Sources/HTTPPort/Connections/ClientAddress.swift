public import Basics
package import NIOCore

/// The proxies whose statements about the client of a request are trusted: programs of this machine, and those that the
/// operator lists. Other peers could forge the fields.
public struct TrustedProxies: Sendable, Hashable {
  private let networks: [Network]

  public init(_ networks: [Network] = []) { self.networks = networks }

  func contains(_ address: IPAddress) -> Bool {
    address.isLoopback || networks.contains { $0.contains(address.mappedIPv4 ?? address) }
  }

  /// Whether a peer is a trusted proxy. A peer at a Unix socket is on this machine. A closed connection has no peer, and is not
  /// trusted, although its input may still be read.
  func contains(_ remote: SocketAddress?) -> Bool {
    guard let remote else { return false }
    guard let text = remote.ipAddress else { return true }
    return IPAddress(text).map { contains($0) } ?? false
  }
}

/// The client address to which per-address limits apply.
///
/// An IPv6 address counts by its network part alone, since one host has 2^64 addresses.
package enum ClientAddress {
  /// Returns the nearest address that is not a trusted proxy's.
  ///
  /// If a trusted proxy gives a name instead of an address, the name counts: a name that hides an address differs for each
  /// client (RFC 7239 6.3). Neither the proxy's address, which all its clients share, nor entries before the name, which the
  /// client may have forged, may be used instead.
  static func of(_ fields: ForwardedFields, _ remote: SocketAddress?, _ proxies: TrustedProxies) -> String {
    var nearest = remote.map { network($0) } ?? "unknown"
    guard proxies.contains(remote) else { return nearest }
    for node in fields.nodes.reversed() {
      switch node {
      case .name(let name): return name
      case .address(let address):
        nearest = network(address)
        if !proxies.contains(address) { return nearest }
      }
    }
    return nearest
  }

  /// Whether the connection comes from this machine.
  static func isLocal(_ remote: SocketAddress?) -> Bool { TrustedProxies().contains(remote) }

  /// The host of an IPv4 address, or the network of an IPv6 address.
  package static func network(_ address: SocketAddress) -> String {
    switch address {
    case .v6:
      // struct sockaddr_in6: the address is its octets 8 to 23 (RFC 3493 3.3).
      let bytes = address.withSockAddr { pointer, size in
        Array(UnsafeRawBufferPointer(start: pointer, count: size).dropFirst(8).prefix(16))
      }
      return network(ofIPv6: bytes)
    case .v4, .unixDomainSocket: return address.ipAddress ?? "local"
    }
  }

  static func network(_ address: IPAddress) -> String {
    address.isIPv6 ? network(ofIPv6: address.bytes) : address.description
  }

  /// The first 64 bits of an IPv6 address of 16 bytes, since one host has 2^64 addresses: four groups, as in `2001:db8:0:1`;
  /// `::ffff:a.b.c.d` is an IPv4 host.
  static func network(ofIPv6 bytes: [UInt8]) -> String {
    if bytes.prefix(12) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff] {
      return bytes.suffix(4).map { String($0) }.joined(separator: ".")
    }
    let groups = stride(from: 0, to: min(8, bytes.count - 1), by: 2).map { Int(bytes[$0]) << 8 | Int(bytes[$0 + 1]) }
    return groups.map { String($0, radix: 16) }.joined(separator: ":")
  }
}
