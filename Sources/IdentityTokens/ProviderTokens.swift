import Accounts
import Basics
import Dialogs
import JSON

/// An OpenID provider whose ID tokens are accepted.
public struct Provider: Hashable, Sendable {
  /// The name that clients send, and that is stored with the user's identity.
  public var name: String
  /// The domain of the users who sign in by it.
  public var domain: String
  /// The accepted values of `iss`, which must match exactly.
  public var issuers: [String]
  /// The server's ids at the provider (`aud`).
  public var audiences: [String]
  /// The URL where it publishes keys; if `nil`, the first issuer's discovery document names it (OpenID Connect
  /// Discovery 1.0).
  public var keySet: String?
  /// Whether a user without an account gets one.
  public var admitsNewcomers: Bool
  /// Whether a token must contain a nonce of this server.
  public var needsNonce: Bool
  /// Whether verified mail addresses and telephone numbers are taken over.
  public var provesContacts: Bool

  public init(
    name: String, domain: String, issuers: [String], audiences: [String], keySet: String? = nil,
    admitsNewcomers: Bool = true, needsNonce: Bool = false, provesContacts: Bool = true
  ) {
    self.name = name
    self.domain = domain
    self.issuers = issuers
    self.audiences = audiences
    self.keySet = keySet
    self.admitsNewcomers = admitsNewcomers
    self.needsNonce = needsNonce
    self.provesContacts = provesContacts
  }

  var keys: RemoteKeys.Place { keySet.map { .keySet($0) } ?? .discovery(issuer: issuers.first ?? "") }
}

/// Verifies ID tokens (OpenID Connect Core 1.0, 3.1.3.7).
struct ProviderTokens {
  let provider: Provider
  private let keys: RemoteKeys
  private let clock: any Clock

  init(_ provider: Provider, _ keys: RemoteKeys, clock: any Clock) {
    self.provider = provider
    self.keys = keys
    self.clock = clock
  }

  func proof(_ token: SignedToken) async throws(Problem) -> IdentityProof {
    // Cheap checks first: a token of another issuer must not make the server fetch keys.
    guard let issuer = token.claims["iss"]?.string, provider.issuers.contains(issuer) else {
      throw .invalid("iss is another than the provider's")
    }
    try checkAudience(token)
    guard token.algorithm != .hs256 else { throw .invalid("ID tokens are taken with RS256 and ES256") }
    guard try await keys.keys(for: token).contains(where: { $0.verifies(token) }) else {
      throw .invalid("its signature is not by a key of its issuer")
    }
    try token.checkTimes(
      now: clock.now, lifetimeMax: IdentityLimits.providerLifetimeMax, needsNotBefore: false)
    guard let subject = token.claims["sub"]?.string, (1...IdentityLimits.subjectBytesMax).contains(subject.utf8.count),
      subject.utf8.allSatisfy({ (0x20...0x7e).contains($0) })
    else { throw .invalid("sub is missing, or no name of somebody") }
    var name = token.claims["name"]?.string
    if let given = name, given.isEmpty || !given.isPlain || given.utf8.count > Limits.displayNameBytesMax { name = nil }
    return IdentityProof(
      Identity(.provider(provider.name), subject), displayName: name, pictureURL: token.pictureURL("picture"),
      nonce: token.claims["nonce"]?.string, needsNonce: provider.needsNonce,
      contacts: provider.provesContacts ? contacts(token) : [], admitsNewcomers: provider.admitsNewcomers)
  }

  /// Checks the audience. 3: only known ids. 4: with several, the authorised party is one of them.
  private func checkAudience(_ token: SignedToken) throws(Problem) {
    let named: [String?] =
      switch token.claims["aud"] {
      case .string(let one)?: [one]
      case .array(let several)?: several.map(\.string)
      case .null?, .bool?, .number?, .object?, nil: []
      }
    guard (1...IdentityLimits.audiencesMax).contains(named.count),
      named.allSatisfy({ $0.map(provider.audiences.contains) ?? false })
    else { throw .invalid("aud is not this app") }
    if named.count > 1 {
      guard let party = token.claims["azp"]?.string, provider.audiences.contains(party) else {
        throw .invalid("azp is not this app")
      }
    }
  }

  /// Returns the contacts that the provider has verified; unverified ones are worthless. A number is in a token of
  /// Firebase only after its owner has typed the code; elsewhere `phone_number_verified` says it (5.1).
  private func contacts(_ token: SignedToken) -> [Identity] {
    var contacts: [Identity] = []
    if token.claims["email_verified"] == .bool(true), let email = token.claims["email"]?.string,
      let identity = Identity(email: email)
    {
      contacts.append(identity)
    }
    let isCode = token.claims["firebase"]?["sign_in_provider"]?.string == "phone"
    if isCode || token.claims["phone_number_verified"] == .bool(true),
      let phone = token.claims["phone_number"]?.string, let identity = Identity(phone: phone)
    {
      contacts.append(identity)
    }
    return contacts
  }
}

extension Identity {
  /// Creates an identity from a mail address of plain form, in lower case; `nil` for anything else.
  init?(email: String) {
    let parts = email.split(separator: "@", omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, parts[1].contains("."), email.utf8.count <= 254,
      email.utf8.allSatisfy({ (0x21...0x7e).contains($0) && !"\"(),:;<>[\\]".utf8.contains($0) })
    else { return nil }
    self.init(.email, email.lowercased())
  }

  /// Creates an identity from an E.164 number: a plus and 7 to 15 digits; `nil` for anything else.
  init?(phone: String) {
    let digits = phone.utf8.dropFirst()
    guard phone.utf8.first == UInt8(ascii: "+"), (7...15).contains(digits.count),
      digits.first != UInt8(ascii: "0"), digits.allSatisfy({ (0x30...0x39).contains($0) })
    else { return nil }
    self.init(.phone, phone)
  }
}
