public import DNS
package import NIOCore

/// One of the hosts and ports at which the server of a domain can be reached.
public struct ServerTarget: Hashable, Sendable {
  /// The host, with A-labels.
  public let name: String
  public let port: Int
  /// Whether TLS begins with the first byte (XEP-0368 3).
  public let isDirectTLS: Bool
  /// Whether DNSSEC vouches for the host being a server of the domain. Then a certificate for the host's name is good
  /// for the domain, too (RFC 7673 4.1).
  public let isSecure: Bool
  /// The certificates that the host has, of which one must match (RFC 7673 4.2); empty where DNSSEC vouches for none.
  public let tlsa: [TLSARecord]

  public init(name: String, port: Int, isDirectTLS: Bool, isSecure: Bool = false, tlsa: [TLSARecord] = []) {
    self.name = name
    self.port = port
    self.isDirectTLS = isDirectTLS
    self.isSecure = isSecure
    self.tlsa = tlsa
  }
}

/// A connection to a server of a domain, on which nothing was sent or received yet.
package struct DialedConnection: Sendable {
  /// Reads nothing by itself, and has no handlers.
  package let channel: any Channel
  package let target: ServerTarget

  package init(channel: any Channel, target: ServerTarget) {
    self.channel = channel
    self.target = target
  }
}

/// The reason why no server of a domain was reached.
public enum DialFailure: Error, Hashable, Sendable {
  /// The DNS has no such domain, or no addresses for it.
  ///
  /// - Parameter isAuthentic: whether DNSSEC vouches for it.
  case noSuchDomain(isAuthentic: Bool)
  /// The domain says that it has no server (RFC 2782, a target of ".").
  case refused
  /// Its servers could not be connected to, each with its reason, or its name could not be looked up.
  case unreachable(reasons: [String])
  case timedOut(reasons: [String])
}
