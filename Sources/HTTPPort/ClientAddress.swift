package import NIOCore

/// The client address that per-address limits are applied to.
///
/// For a proxy on this machine it is the last entry of `X-Forwarded-For`; from other peers the field could be forged.
/// An IPv6 address counts by its network part alone, since one host has 2^64 addresses.
package enum ClientAddress {
  static func of(forwarded: String?, _ remote: SocketAddress?) -> String {
    // A peer without an address (a Unix socket) is on this machine.
    let address = remote?.ipAddress ?? "127.0.0.1"
    if let forwarded, isLoopback(address), let last = forwarded.split(separator: ",").last {
      let client = last.filter { $0 != " " && $0 != "[" && $0 != "]" }
      if client.utf8.count <= 45, let parsed = try? SocketAddress(ipAddress: String(client), port: 0) {
        return network(parsed)
      }
    }
    return remote.map { network($0) } ?? address
  }

  /// Whether the connection comes from this machine.
  static func isLocal(_ remote: SocketAddress?) -> Bool { isLoopback(remote?.ipAddress ?? "127.0.0.1") }

  private static func isLoopback(_ address: String) -> Bool {
    address.hasPrefix("127.") || address == "::1" || address.hasPrefix("::ffff:127.")
  }

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

  /// The first 64 bits of an IPv6 address of 16 bytes, since one host has 2^64 of the rest; `::ffff:a.b.c.d` is an IPv4 host.
  static func network(ofIPv6 bytes: [UInt8]) -> String {
    if bytes.prefix(12) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff] {
      return bytes.suffix(4).map { String($0) }.joined(separator: ".")
    }
    return bytes.prefix(8).map { String($0, radix: 16) }.joined(separator: ":")
  }
}
