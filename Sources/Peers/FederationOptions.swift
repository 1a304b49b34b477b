import DNS
public import Dialogs
import NIOCore

/// The options of federation: which remote domains are admitted, how they are found and verified, and for how long messages
/// are kept for them. The configuration keys `federation.*` are parsed into it.
public struct FederationOptions: Sendable, Hashable {
  /// The proof that a stream must give of its domain.
  public enum Verification: String, Sendable, Hashable, CaseIterable {
    /// A certificate that is valid for the domain (RFC 6120 13.7.1.2.1).
    case certificate
    /// Such a certificate, or dialback over TLS (XEP-0220).
    case dialback
  }

  /// Whether an answer of the DNS counts as authentic (RFC 4035 3.2.3).
  public enum DNSSECTrust: String, Sendable, Hashable, CaseIterable {
    /// Authentic if the resolver runs on this machine, or resolv.conf has `trust-ad`.
    case auto
    case always
    case never
  }

  /// The address of a domain's server, which replaces the look-up in the DNS.
  public struct Route: Sendable, Hashable {
    public let domain: String
    public let host: String
    public let port: Int
    /// Whether TLS begins with the connection (XEP-0368).
    public let isDirectTLS: Bool

    public init(domain: String, host: String, port: Int, isDirectTLS: Bool = false) {
      self.domain = domain
      self.host = host
      self.port = port
      self.isDirectTLS = isDirectTLS
    }
  }

  /// The address to listen on.
  public var host = "::"
  /// The port of streams that begin with STARTTLS; 0 listens on none.
  public var port = 5269
  /// The port of streams that begin with TLS (XEP-0368); 0 listens on none.
  public var tlsPort = 5270
  public var verification = Verification.certificate
  /// The rules that admit and refuse domains.
  public var rules = DomainRules()
  /// A PEM file of certificate authorities; `nil` for the system's.
  public var authorities: String?
  public var dnssec = DNSSECTrust.auto
  /// The DNS resolvers as `HOST:PORT`; those of resolv.conf if empty.
  public var resolvers: [String] = []
  /// Whether certificates are also verified by POSH (RFC 7711).
  public var usesPOSH = false
  public var routes: [Route] = []
  /// The seconds after which a message that its domain has not taken is returned to its author.
  public var giveUpSeconds = 3600
  /// The seconds without a stanza after which a stream is closed.
  public var idleSeconds = 1800
  /// The seconds of failed attempts to open a stream after which all users of a domain are shown as offline: longer than
  /// most servers need to restart.
  public var absentSeconds = 300
  /// The remote users who may be in rooms of this server.
  public var rooms = RemoteRoomPolicy.open
  /// The limits on messages from remote users who are no contacts.
  public var strangers = StrangerPolicy.limit
  /// Whether users' reports are forwarded to the domains of the reported addresses, if the users agree.
  public var forwardsReports = false
  /// Whether components can communicate with remote domains.
  public var reachesComponents = true
  /// The block lists of other services that the server follows.
  public var blocklists: [BlocklistOption] = []

  public init() {}
}

extension FederationOptions {
  /// Returns the resolver of the DNS: the configured name servers, or the system's.
  func resolver(_ group: any EventLoopGroup) -> StubResolver {
    StubResolver(
      resolvers.isEmpty ? .system() : .servers(resolvers.compactMap(Self.address)), authenticity: authenticity,
      group: group)
  }

  /// Parses an address and a port, such as `127.0.0.1:53` or `[::1]:53`.
  private static func address(_ text: String) -> SocketAddress? {
    guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]) else { return nil }
    let host = text[..<colon].drop { $0 == "[" }.prefix { $0 != "]" }
    return try? SocketAddress(ipAddress: String(host), port: port)
  }

  private var authenticity: StubResolver.Authenticity {
    switch dnssec {
    case .auto: .auto
    case .always: .always
    case .never: .never
    }
  }
}
