import Crypto

/// A server of STUN or TURN beside this one, which calls need to get through
/// NATs (XEP-0215, the app's `GET /v1/ice-servers`).
public struct ExternalService: Hashable, Sendable {
  /// RFC 7064 3.1 and RFC 7065 3.1: the schemes.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    case stun, stuns, turn, turns

    public var isRelay: Bool { self == .turn || self == .turns }
    public var isSecure: Bool { self == .stuns || self == .turns }
    /// RFC 8489 8.1, RFC 8656 5: 3478, over TLS 5349.
    public var standardPort: Int { isSecure ? 5349 : 3478 }
  }
  public enum Transport: String, Hashable, Sendable { case udp, tcp }

  public let kind: Kind
  /// A domain name or an address; one of IPv6 without brackets.
  public let host: String
  public let port: Int
  public let transport: Transport

  public init(kind: Kind, host: String, port: Int, transport: Transport) {
    self.kind = kind
    self.host = host
    self.port = port
    self.transport = transport
  }

  /// `turn:relay.example.org:3478?transport=udp`. STUN has no transport there (RFC 7064 3.1).
  public var uri: String {
    let address = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    return "\(kind.rawValue):\(address)" + (kind.isRelay ? "?transport=\(transport.rawValue)" : "")
  }

  /// What one user needs at a relay.
  public struct Credentials: Hashable, Sendable {
    public let username: String
    public let password: String
    public let expires: Timestamp
  }
}

/// The servers of STUN and TURN, with what makes credentials for the relays.
///
/// The scheme is the one coturn calls "REST API": the relay shares a secret with
/// this server and needs to know no user. The name says until when it counts, and
/// the password is HMAC-SHA1 of the name.
public struct ExternalServices: Hashable, Sendable {
  public let all: [ExternalService]
  private let secret: [UInt8]
  private let lifetime: Duration

  /// - Parameters:
  ///   - secret: shared with the relays.
  ///   - lifetime: how long credentials count.
  public init(_ all: [ExternalService], secret: String, lifetime: Duration) {
    self.all = all
    self.secret = Array(secret.utf8)
    self.lifetime = lifetime
  }

  public static let none = ExternalServices([], secret: "", lifetime: .zero)

  /// What `user` needs from now on; nil where the service wants nothing.
  public func credentials(for user: Party, at service: ExternalService, now: Timestamp) -> ExternalService.Credentials?
  {
    guard service.kind.isRelay else { return nil }
    let seconds = (now + lifetime).milliseconds / 1_000
    let username = "\(seconds):\(user.address)"
    let code = HMAC<Insecure.SHA1>.authenticationCode(for: Array(username.utf8), using: SymmetricKey(data: secret))
    return ExternalService.Credentials(
      username: username, password: Self.base64(Array(code)), expires: Timestamp(milliseconds: seconds * 1_000))
  }

  /// RFC 4648 4.
  public static func base64(_ bytes: [UInt8]) -> String {
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var text: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let bits = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << (8 * UInt32(3 - group.count))
      for place in 0..<4 {
        text.append(place <= group.count ? letters[Int(bits >> (18 - 6 * UInt32(place)) & 63)] : UInt8(ascii: "="))
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}
