import Addresses
import Basics
import Glibc
import NIOCore

/// Listening addresses and domains as written in the configuration.
package enum Host {
  static func isAddress(_ text: String) -> Bool { text == "localhost" || isIPv4(text) || isIPv6(text) }

  /// Whether a listener there is reachable only from this machine.
  package static func isLoopback(_ text: String) -> Bool {
    text == "localhost" || text == "::1" || (isIPv4(text) && text.hasPrefix("127."))
  }

  /// Whether listeners at these addresses would conflict on a port; `::` is every address, of IPv4 too.
  static func overlap(_ a: String, _ b: String) -> Bool {
    if a == b || a == "::" || b == "::" { return true }
    if a == "0.0.0.0" || b == "0.0.0.0" { return !isIPv6(a) && !isIPv6(b) }
    return (a == "localhost" && isLoopback(b)) || (b == "localhost" && isLoopback(a))
  }

  /// Returns the address to bind: on a machine without IPv6 every address is `0.0.0.0`.
  package static func bound(_ text: String) -> String { text == "::" && !hasIPv6 ? "0.0.0.0" : text }

  /// Whether this machine listens on `::`. One without an IPv6 address, such as a container on an ordinary bridge, may
  /// not resolve it; one that was booted with `ipv6.disable=1` has no such sockets (EAFNOSUPPORT of socket(2)).
  package static let hasIPv6: Bool = {
    let file = socket(AF_INET6, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard file >= 0 else { return errno != EAFNOSUPPORT }
    close(file)
    return (try? SocketAddress.makeAddressResolvingHost("::", port: 0)) != nil
  }()

  /// Returns the address at which the same machine reaches a listener bound there.
  package static func reached(_ text: String) -> String {
    switch bound(text) {
    case "::": "::1"
    case "0.0.0.0": "127.0.0.1"
    case let address: address
    }
  }

  /// Whether the text is a URL of http or https in ASCII.
  static func isWebURL(_ text: String) -> Bool {
    let rest = text.hasPrefix("https://") ? text.dropFirst(8) : text.hasPrefix("http://") ? text.dropFirst(7) : ""
    return !rest.isEmpty && rest.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f }
  }

  /// Returns the host of a URL of https, a domain in normal form or an address; nil for other URLs.
  static func ofSecureURL(_ url: String) -> String? {
    guard url.hasPrefix("https://") else { return nil }
    let authority = url.dropFirst(8).prefix { $0 != "/" }
    if authority.hasPrefix("[") { return IPAddress(String(authority.dropFirst().prefix { $0 != "]" }))?.description }
    return domain(String(authority.prefix { $0 != ":" }))
  }

  /// Returns a domainpart in normal form (RFC 7622 3.2), or nil.
  package static func domain(_ text: String) -> String? {
    guard let address = BareJID(parsing: text), address.local == nil else { return nil }
    return address.domain
  }

  private static func isIPv4(_ text: String) -> Bool { IPAddress(text)?.isIPv6 == false }

  private static func isIPv6(_ text: String) -> Bool { IPAddress(text)?.isIPv6 == true }
}
