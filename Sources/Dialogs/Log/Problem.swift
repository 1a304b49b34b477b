/// The error of the core. Each door has one table that maps `kind` to its protocol (a stanza error, an HTTP status);
/// `code` is a stable slug for programs, `text` is for people, `field` names the offending key.
public struct Problem: Error, Hashable, Sendable {
  public enum Kind: UInt8, Sendable {
    case malformed, unauthenticated, forbidden, missing, conflict, tooLarge, unsupported
    /// The user is unknown, or blocks the author (RFC 6121 8.5.1).
    case unreachable
    /// The author blocks the addressee (XEP-0191 3.3): `not-acceptable`.
    case blocked
    /// This server does not serve the address's domain, and federation is off.
    case foreign
    case tooFast, overloaded, `internal`
    /// The app's backend refused the message (`BeforeSendHook`).
    case refused
  }

  public let kind: Kind
  public let code: String
  public let text: String
  public let field: String?
  /// The details for an operator, besides the text. They may name paths, buckets and other servers, so only commands on
  /// the server's machine show them, never a door.
  public let reason: String?
  /// Seconds to wait before trying again (`tooFast`, `overloaded`).
  public let retryAfter: Int?

  /// The challenge to send with a proof of the second factor (`second-factor-required`), or to compute a proof of work
  /// from (`registration-proof-required`).
  public let challenge: String?
  /// The method of the proof of the second factor.
  public let secondFactor: String?
  /// The bits with which the hash of the proof of work must end, in hexadecimal digits.
  public let target: String?

  public init(
    _ kind: Kind, _ code: String, _ text: String, field: String? = nil, reason: String? = nil,
    retryAfter: Int? = nil, challenge: String? = nil, secondFactor: String? = nil, target: String? = nil
  ) {
    self.challenge = challenge
    self.secondFactor = secondFactor
    self.target = target
    self.kind = kind
    self.code = code
    self.text = text
    self.field = field
    self.reason = reason
    self.retryAfter = retryAfter
  }

  /// The text for an operator.
  public var explanation: String { reason.map { "\(text) Reason: \($0)" } ?? text }

  public static let unreachable = Problem(
    .unreachable, "user-unreachable", "There is no such user, or they cannot be reached.")
  /// The problem with a remote domain, if this server does not federate.
  public static func notFederated(_ domain: String) -> Problem {
    Problem(.foreign, "domain-not-served", "\(domain) is not served here, and this server does not federate.")
  }
  public static let overloaded = Problem(
    .overloaded, "overloaded", "The server has too much to do. Try again shortly.", retryAfter: 1)
  public static let storage = Problem(
    .overloaded, "storage-failed",
    "The server could not write to its storage. Nothing was stored; try again shortly.",
    retryAfter: 5)
}
