public import Accounts
public import Basics
public import Dialogs
import JSON

// Tokens by which others identify users: those of an app's own backend, and those of OpenID providers. Theory:
//
// A token is untrusted until its signature has been verified. The configuration says which keys may verify it, by its
// claimed issuer; a key's kind determines the algorithm, never the token (RFC 8725 3.1). Then the claims are checked.
// Only the nonce is left to the core, which uses it up with the login.

/// The verifier of identity tokens, with the issuers and their keys by domain.
///
///     let verifier = try TokenVerifier(backends: backends, providers: providers, documents: documents, clock: clock)
///     let proof = try await verifier.verify(.backend(token), for: "example.org")
public final class TokenVerifier: IdentityVerifier {
  private let backends: [String: [BackendTokens]]
  private let providers: [String: [ProviderTokens]]
  private let codes: [String: [ProviderCodes]]

  /// Creates a verifier. Throws `KeyError` if a key of the configuration is invalid.
  public init(
    backends: [Backend], providers: [Provider], documents: any DocumentSource, codes: [CodeProvider] = [],
    exchange: (any CodeExchange)? = nil, clock: any Clock
  ) throws(KeyError) {
    // Issuers with one URL share one cache.
    var remotes: [RemoteKeys.Place: RemoteKeys] = [:]
    func keys(_ place: RemoteKeys.Place) -> RemoteKeys {
      let known = remotes[place] ?? RemoteKeys(place, documents: documents, clock: clock)
      remotes[place] = known
      return known
    }
    var byDomain: [String: [BackendTokens]] = [:]
    for backend in backends {
      let keySet = backend.keySet.map { keys(.keySet($0)) }
      byDomain[backend.domain, default: []].append(try BackendTokens(backend, keySet, clock: clock))
    }
    self.backends = byDomain
    self.providers = Dictionary(
      grouping: providers.map { ProviderTokens($0, keys($0.keys), clock: clock) }, by: \.provider.domain)
    self.codes = Dictionary(
      grouping: exchange.map { exchange in codes.map { ProviderCodes($0, exchange) } } ?? [], by: \.provider.domain)
  }

  public func hasBackend(_ domain: String) -> Bool { backends[domain] != nil }
  public func providers(of domain: String) -> [String] {
    (providers[domain] ?? []).map(\.provider.name) + (codes[domain] ?? []).map(\.provider.name)
  }

  public func authorizationEndpoints(of domain: String) -> [AuthorizationEndpoint] {
    (codes[domain] ?? []).map(\.provider).compactMap { provider in
      provider.authorizationURL.map {
        AuthorizationEndpoint(
          provider: provider.name, url: $0, clientID: provider.clientID, scope: provider.scope,
          redirectURIs: provider.redirectURIs)
      }
    }
  }

  public func verify(_ token: IdentityToken, for domain: String) async throws(Problem) -> IdentityProof {
    switch token {
    case .backend(let text):
      guard let known = backends[domain] else {
        throw Problem(.forbidden, "grant-off", "No backend vouches for users of this app.", field: "grant")
      }
      let token = try SignedToken(text, field: "identityToken")
      // An issuer that is unknown here has no keys here, whatever it has elsewhere.
      guard let backend = known.first(where: { $0.backend.name == token.claims["iss"]?.string }) else {
        throw Problem.invalid("iss names no issuer that this server accepts")
      }
      return try await backend.proof(token)
    case .provider(let name, let text):
      guard let provider = providers[domain]?.first(where: { $0.provider.name == name }) else {
        throw unknown(name, in: domain, "code, codeVerifier and redirectUri are")
      }
      return try await provider.proof(try SignedToken(text, field: "idToken"))
    case .code(let name, let grant):
      guard let provider = codes[domain]?.first(where: { $0.provider.name == name }) else {
        throw unknown(name, in: domain, "idToken is")
      }
      return try await provider.proof(grant)
    }
  }

  private func unknown(_ name: String, in domain: String, _ expected: String) -> Problem {
    providers(of: domain).contains(name)
      ? Problem(.malformed, "input-malformed", "Of \(name) \(expected) expected.", field: "provider")
      : Problem(.malformed, "provider-unknown", "There is no such provider here.", field: "provider")
  }
}

extension Problem {
  static func invalid(_ reason: String) -> Problem {
    Problem(.unauthenticated, "identity-token-invalid", "Identity token refused: \(reason).")
  }

  static let expired = Problem(
    .unauthenticated, "identity-token-expired", "The identity token has expired; ask its issuer for a new one.")
}
