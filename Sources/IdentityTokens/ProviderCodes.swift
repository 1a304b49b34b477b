import Accounts
import Basics
import Dialogs
import JSON

/// A provider without ID tokens (Twitter, GitHub): its users bring an authorization code, which the server alone can
/// redeem.
public struct CodeProvider: Hashable, Sendable {
  /// The name that clients send, and that is stored with the user's identity.
  public var name: String
  /// The domain of the users who sign in by it.
  public var domain: String
  /// The client id and secret of this server there (RFC 6749 2.2, 2.3.1).
  public var clientID: String
  public var clientSecret: String
  /// Its authorization endpoint (RFC 6749 3.1), and the scope to ask for there (3.3), for clients that know nothing of
  /// the provider, such as the web client; `nil` to offer it to none of them.
  public var authorizationURL: String?
  public var scope: String?
  /// Its token endpoint (RFC 6749 3.2), and the endpoint that describes the user of an access token.
  public var tokenURL: String
  public var userURL: String
  /// The path to the member that identifies the user for good, such as `data`, `id`.
  public var subject: [String]
  /// The path to the display name; empty for none.
  public var displayName: [String]
  /// The app's redirect URIs, which must match exactly: codes sent elsewhere are refused.
  public var redirectURIs: [String]
  /// Whether a user without an account gets one.
  public var admitsNewcomers: Bool

  public init(
    name: String, domain: String, clientID: String, clientSecret: String, authorizationURL: String? = nil,
    scope: String? = nil, tokenURL: String, userURL: String, subject: [String] = ["id"], displayName: [String] = [],
    redirectURIs: [String], admitsNewcomers: Bool = true
  ) {
    self.name = name
    self.domain = domain
    self.clientID = clientID
    self.clientSecret = clientSecret
    self.authorizationURL = authorizationURL
    self.scope = scope
    self.tokenURL = tokenURL
    self.userURL = userURL
    self.subject = subject
    self.displayName = displayName
    self.redirectURIs = redirectURIs
    self.admitsNewcomers = admitsNewcomers
  }
}

/// Sends requests to providers, at the URLs of the configuration.
public protocol CodeExchange: Sendable {
  /// Sends a POST with the form, if there is one (RFC 6749 appendix B), otherwise a GET. Returns `nil` without an
  /// answer.
  func answer(
    from url: String, authorization: String, form: [UInt8]?, bytesMax: Int
  ) async -> (status: Int, body: [UInt8])?
}

/// Redeems codes: the authorization code grant (RFC 6749 4.1.3) with its proof key (RFC 7636 4.5). An access token from
/// a client is never accepted: it does not tell to which app it was given (RFC 6749 10.16). The server's own comes from
/// the provider itself, for a code that was made for this server, and is dropped at once.
struct ProviderCodes {
  let provider: CodeProvider
  private let exchange: any CodeExchange

  init(_ provider: CodeProvider, _ exchange: any CodeExchange) {
    self.provider = provider
    self.exchange = exchange
  }

  func proof(_ grant: CodeGrant) async throws(Problem) -> IdentityProof {
    try check(grant)
    let user = try await user(by: try await accessToken(for: grant))
    guard let subject = Self.text(provider.subject, of: user),
      (1...IdentityLimits.subjectBytesMax).contains(subject.utf8.count),
      subject.utf8.allSatisfy({ (0x20...0x7e).contains($0) })
    else { throw .invalid("the provider does not say who it is") }
    var name = provider.displayName.isEmpty ? nil : Self.text(provider.displayName, of: user)
    if let given = name, given.isEmpty || !given.isPlain || given.utf8.count > Limits.displayNameBytesMax { name = nil }
    return IdentityProof(
      Identity(.provider(provider.name), subject), displayName: name, admitsNewcomers: provider.admitsNewcomers)
  }

  private func check(_ grant: CodeGrant) throws(Problem) {
    // RFC 6749 appendix A.11.
    guard (1...IdentityLimits.codeBytesMax).contains(grant.code.utf8.count),
      grant.code.utf8.allSatisfy({ (0x20...0x7e).contains($0) })
    else {
      throw Problem(
        .malformed, "input-malformed", "code has 1 to \(IdentityLimits.codeBytesMax) characters of ASCII.",
        field: "code")
    }
    // RFC 7636 4.1.
    guard (43...128).contains(grant.verifier.utf8.count), grant.verifier.utf8.allSatisfy(PercentEncoding.isUnreserved)
    else {
      throw Problem(
        .malformed, "input-malformed", "codeVerifier has 43 to 128 letters, digits, -, ., _ and ~ (RFC 7636 4.1).",
        field: "codeVerifier")
    }
    guard provider.redirectURIs.contains(grant.redirectURI) else {
      throw Problem(
        .malformed, "redirect-unknown", "redirectUri is none of this app's at the provider.", field: "redirectUri")
    }
  }

  private func accessToken(for grant: CodeGrant) async throws(Problem) -> String {
    let form = [
      ("grant_type", "authorization_code"), ("code", grant.code), ("redirect_uri", grant.redirectURI),
      ("code_verifier", grant.verifier),
    ]
    // 2.3.1: both are encoded before they are joined.
    let client = "\(PercentEncoding.encode(provider.clientID)):\(PercentEncoding.encode(provider.clientSecret))"
    let answer = await exchange.answer(
      from: provider.tokenURL, authorization: "Basic \(Base64.string(client.utf8))",
      form: Array(form.map { "\($0)=\(PercentEncoding.encode($1))" }.joined(separator: "&").utf8),
      bytesMax: IdentityLimits.exchangeBytesMax)
    guard let answer, let json = try? JSONValue(parsing: answer.body) else { throw Self.unreachable }
    if answer.status == 200, let token = json["access_token"]?.string, !token.isEmpty,
      token.utf8.allSatisfy({ (0x21...0x7e).contains($0) }),
      json["token_type"]?.string?.lowercased() == "bearer"
    {
      return token
    }
    // 5.2: distinguish faults of the code from those of the server or the provider.
    if (400..<500).contains(answer.status), ["invalid_grant", "invalid_request"].contains(json["error"]?.string) {
      throw .invalid("the provider does not take the code")
    }
    throw Self.unreachable
  }

  private func user(by token: String) async throws(Problem) -> JSONValue {
    let answer = await exchange.answer(
      from: provider.userURL, authorization: "Bearer \(token)", form: nil, bytesMax: IdentityLimits.exchangeBytesMax)
    guard let answer, answer.status == 200, let json = try? JSONValue(parsing: answer.body) else {
      throw Self.unreachable
    }
    return json
  }

  private static let unreachable = Problem(
    .overloaded, "issuer-unreachable",
    "The provider does not answer as it should. Try again shortly, with another code.",
    retryAfter: Int(IdentityLimits.retrySeconds))

  /// Returns a text, or an integer as it is written.
  private static func text(_ path: [String], of value: JSONValue) -> String? {
    var value: JSONValue? = value
    for name in path { value = value?[name] }
    switch value {
    case .string(let text)?: return text
    case .number(let text)?: return text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? text : nil
    case .null?, .bool?, .array?, .object?, nil: return nil
    }
  }
}
