/// The SASL mechanisms of a stream.
public enum SASLMechanism: Sendable, Hashable {
  case scram(SCRAMMechanism)
  /// SCRAM with channel binding: `-PLUS` (RFC 5802 4).
  case boundSCRAM(SCRAMMechanism)
  case plain
  /// RFC 7628.
  case oauthBearer
  /// RFC 4505, on domains that take guests (XEP-0175).
  case anonymous

  /// The registered name.
  public var name: StaticString {
    switch self {
    case .scram(let mechanism): mechanism.name
    case .boundSCRAM(let mechanism): mechanism.boundName
    case .plain: "PLAIN"
    case .oauthBearer: "OAUTHBEARER"
    case .anonymous: "ANONYMOUS"
    }
  }

  /// The SCRAM mechanism, with or without channel binding; `nil` for others.
  public var scram: SCRAMMechanism? {
    switch self {
    case .scram(let mechanism), .boundSCRAM(let mechanism): mechanism
    case .plain, .oauthBearer, .anonymous: nil
    }
  }

  /// Whether it binds the login to its TLS connection.
  public var isBound: Bool {
    switch self {
    case .boundSCRAM: true
    case .scram, .plain, .oauthBearer, .anonymous: false
    }
  }

  /// All known mechanisms, strongest first: the order of the offer.
  public static let all: [SASLMechanism] =
    SCRAMMechanism.allCases.map(SASLMechanism.boundSCRAM) + SCRAMMechanism.allCases.map(SASLMechanism.scram)
    + [.plain, .oauthBearer, .anonymous]

  /// Whether an attacker who reads the client's messages can impersonate it.
  var isReadable: Bool {
    switch self {
    case .scram, .boundSCRAM, .anonymous: false
    case .plain, .oauthBearer: true
    }
  }
}
