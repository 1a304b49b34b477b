public import DNS
package import NIOCore

/// One of the hosts and ports at which the server of a domain can be reached.
public struct ServerTarget: Hashable, Sendable {
  /// The host, with A-labels.
  public let name: String
  public let port: Int
  /// Whether TLS begins with the first byte (XEP-0368 3).
  public let isDirectTLS: Bool
  /// Whether DNSSEC proves that the host is a server of the domain. Then a certificate for the host's name is also valid
  /// for the domain (RFC 7673 4.1).
  public let isSecure: Bool
  /// The TLSA records of the host, of which one must match (RFC 7673 4.2); empty if there are none signed by DNSSEC.
  public let tlsa: [TLSARecord]

  public init(name: String, port: Int, isDirectTLS: Bool, isSecure: Bool = false, tlsa: [TLSARecord] = []) {
    self.name = name
    self.port = port
    self.isDirectTLS = isDirectTLS
    self.isSecure = isSecure
    self.tlsa = tlsa
  }
}

/// A connection to a server of a domain, on which nothing has been sent or received yet.
package struct DialedConnection: Sendable {
  /// The channel, without automatic reading and without handlers.
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
  /// - Parameter isAuthentic: whether DNSSEC proves this.
  case noSuchDomain(isAuthentic: Bool)
  /// The domain declares that it has no server (RFC 2782, a target of ".").
  case refused
  /// No connection to its servers was possible, each with its reason, or its name could not be looked up.
  case unreachable(reasons: [String])
  case timedOut(reasons: [String])
}
