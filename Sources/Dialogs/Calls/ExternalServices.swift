public import Basics
import Crypto

/// A STUN or TURN server beside this one, which calls need to traverse NATs (XEP-0215, the app protocol's `GET
/// /v1/ice-servers`).
public struct ExternalService: Hashable, Sendable {
  /// The URI scheme (RFC 7064 3.1, RFC 7065 3.1).
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    case stun, stuns, turn, turns

    public var isRelay: Bool { self == .turn || self == .turns }
    public var isSecure: Bool { self == .stuns || self == .turns }
    /// The default port (RFC 8489 8.1, RFC 8656 5): 3478, over TLS 5349.
    public var standardPort: Int { isSecure ? 5349 : 3478 }
  }
  public enum Transport: String, Hashable, Sendable { case udp, tcp }

  public let kind: Kind
  /// A domain name or an address; an IPv6 address has no brackets.
  public let host: String
  public let port: Int
  public let transport: Transport

  public init(kind: Kind, host: String, port: Int, transport: Transport) {
    self.kind = kind
    self.host = host
    self.port = port
    self.transport = transport
  }

  /// The URI, such as `turn:relay.example.org:3478?transport=udp`. STUN URIs have no transport (RFC 7064 3.1).
  public var uri: String {
    let address = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    return "\(kind.rawValue):\(address)" + (kind.isRelay ? "?transport=\(transport.rawValue)" : "")
  }

  /// The credentials of one user at a relay.
  public struct Credentials: Hashable, Sendable {
    public let username: String
    public let password: String
    public let expires: Timestamp
  }
}

/// The STUN and TURN servers, and the generator of credentials for the relays.
///
/// The scheme is coturn's "REST API": the relays share a secret with this server and need not know the users. The name
/// contains the time of expiry, and the password is the HMAC-SHA1 of the name.
public struct ExternalServices: Hashable, Sendable {
  public let all: [ExternalService]
  private let secret: [UInt8]
  private let lifetime: Duration

  /// Creates the list of servers.
  ///
  /// - Parameters:
  ///   - secret: the secret shared with the relays.
  ///   - lifetime: how long credentials are valid.
  public init(_ all: [ExternalService], secret: String, lifetime: Duration) {
    self.all = all
    self.secret = Array(secret.utf8)
    self.lifetime = lifetime
  }

  public static let none = ExternalServices([], secret: "", lifetime: .zero)

  /// Returns credentials for `user`, valid from now on; `nil` if the service needs none.
  public func credentials(for user: Party, at service: ExternalService, now: Timestamp) -> ExternalService.Credentials?
  {
    guard service.kind.isRelay else { return nil }
    let seconds = (now + lifetime).milliseconds / 1_000
    let username = "\(seconds):\(user.address)"
    let code = HMAC<Insecure.SHA1>.authenticationCode(for: Array(username.utf8), using: SymmetricKey(data: secret))
    return ExternalService.Credentials(
      username: username, password: Base64.string(code), expires: Timestamp(milliseconds: seconds * 1_000))
  }
}
