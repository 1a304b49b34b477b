import Accounts
import Crypto
import CryptoExtras
import Dialogs
import Foundation
import Testing

@testable import IdentityTokens

/// ID tokens, and the keys that they are checked with.
@Suite struct ProviderTokenTests {
  private let clock = HandClock()
  private let web = Web()
  private let keys = "https://keys.example/set"

  private func tokens(_ change: (inout Provider) -> Void = { _ in }) throws -> TokenVerifier {
    var provider = Provider(
      name: "google", domain: "a.example", issuers: ["https://accounts.example", "accounts.example"],
      audiences: ["app", "app-ios"], keySet: keys)
    change(&provider)
    return try TokenVerifier(backends: [], providers: [provider], documents: web, clock: clock)
  }

  private func publish(_ keys: [[String: String]], cacheControl: String? = nil) throws {
    web.put(self.keys, Document(try JWKSet.text(keys), cacheControl: cacheControl))
  }

  private func claims(_ changes: [String: Any?] = [:]) -> [String: Any?] {
    let now = clock.seconds
    let claims: [String: Any?] = [
      "iss": "https://accounts.example", "aud": "app", "sub": "10769150350006150715113082367", "iat": now,
      "exp": now + 3_600, "name": "Juliet",
    ]
    return claims.merging(changes) { _, new in new }
  }

  private func token(
    _ changes: [String: Any?] = [:], kid: String? = "1", key: Issuer.Key = .rsa(Issuer.rsa), alg: String = "RS256"
  ) throws -> String {
    try Issuer(key: key).token(["alg": alg, "kid": kid], claims(changes))
  }

  private func outcome(
    _ token: String, _ tokens: TokenVerifier, _ provider: String = "google", domain: String = "a.example"
  ) async -> Result<IdentityProof, Problem> {
    do throws(Problem) {
      return .success(try await tokens.verify(.provider(provider, idToken: token), for: domain))
    } catch { return .failure(error) }
  }

  private func refusal(_ token: String, _ tokens: TokenVerifier) async -> String {
    guard case .failure(let problem) = await outcome(token, tokens) else { return "taken" }
    return problem.text
  }

  @Test func aRightOneSaysWhoComes() async throws {
    try publish([try JWKSet.rsa(Issuer.rsa.publicKey, "1"), JWKSet.curve(Issuer.curve.publicKey, "2")])
    let tokens = try tokens()
    let right = IdentityProof(
      Identity(.provider("google"), "10769150350006150715113082367"), displayName: "Juliet", nonce: "mine",
      admitsNewcomers: true)
    #expect(try await outcome(token(["nonce": "mine"]), tokens).get() == right)
    let curve = try token(
      ["nonce": "mine", "iss": "accounts.example"], kid: "2", key: .curve(Issuer.curve), alg: "ES256")
    #expect(try await outcome(curve, tokens).get() == right)
    #expect(web.asked == [keys])
    #expect(tokens.providers(of: "a.example") == ["google"] && tokens.providers(of: "b.example") == [])
  }

  @Test func itMustBeMeantForThisApp() async throws {
    try publish([try JWKSet.rsa(Issuer.rsa.publicKey, "1")])
    let tokens = try tokens()
    for audience: Any? in [
      nil, "", "other", [], ["other"], ["app", "other"], [7], 7, ["app": 1], Array(repeating: "app", count: 17),
    ] {
      #expect(try await refusal(token(["aud": audience]), tokens).contains("aud"), "\(audience ?? "nil")")
    }
    #expect(try await refusal(token(["aud": ["app"]]), tokens) == "taken")
    #expect(try await refusal(token(["aud": ["app"], "azp": "another-client"]), tokens) == "taken")
    #expect(try await refusal(token(["aud": ["app", "app-ios"]]), tokens).contains("azp"))
    #expect(try await refusal(token(["aud": ["app", "app-ios"], "azp": "other"]), tokens).contains("azp"))
    #expect(try await refusal(token(["aud": ["app", "app-ios"], "azp": "app-ios"]), tokens) == "taken")
    for issuer: Any? in [nil, "https://accounts.example/", "https://ACCOUNTS.example", "https://evil.example"] {
      #expect(try await refusal(token(["iss": issuer]), tokens).contains("iss"), "\(issuer ?? "nil")")
    }
    for subject: Any? in [nil, "", 7, String(repeating: "1", count: 256), "a\nb", "ä"] {
      #expect(try await refusal(token(["sub": subject]), tokens).contains("sub"), "\(subject ?? "nil")")
    }
    let now = clock.seconds
    #expect(try await refusal(token(["exp": now - 60]), tokens).contains("has expired"))
    #expect(try await refusal(token(["exp": nil]), tokens).contains("exp"))
    #expect(try await refusal(token(["iat": nil]), tokens).contains("iat"))
    #expect(try await refusal(token(["iat": now + 61]), tokens).contains("iat"))
    #expect(try await refusal(token(["nbf": now + 61]), tokens).contains("nbf"))
    #expect(try await refusal(token(["exp": now + 86_401]), tokens).contains("seconds behind iat"))
    for (name, domain, code) in [
      ("facebook", "a.example", "provider-unknown"), ("google", "b.example", "provider-unknown"),
    ] {
      guard case .failure(let problem) = await outcome(try token(), tokens, name, domain: domain) else {
        Issue.record("taken: \(name) \(domain)")
        continue
      }
      #expect(problem.code == code && problem.kind == .malformed)
    }
  }

  @Test func onlyPublishedKeysSign() async throws {
    let rsa = Issuer.rsa.publicKey
    try publish([try JWKSet.rsa(rsa, "1"), JWKSet.curve(Issuer.curve.publicKey, "2")])
    let tokens = try tokens()
    #expect(try await refusal(token(key: .none, alg: "none"), tokens).contains("alg"))
    #expect(try await refusal(token(key: .none), tokens).contains("signature"))
    for form in [Array(rsa.pemRepresentation.utf8), Array(rsa.derRepresentation)] {
      #expect(try await refusal(token(key: .secret(form), alg: "HS256"), tokens).contains("RS256 and ES256"))
    }
    // A key of another name, and one of another kind under its name.
    #expect(try await refusal(token(kid: "2"), tokens).contains("signature"))
    #expect(try await refusal(token(kid: "1", key: .curve(Issuer.curve), alg: "ES256"), tokens).contains("signature"))
    #expect(
      try await refusal(token(kid: "2", key: .curve(P256.Signing.PrivateKey()), alg: "ES256"), tokens).contains(
        "signature"))
    // Without a name all are tried.
    #expect(try await refusal(token(kid: nil), tokens) == "taken")
    #expect(try await refusal(token(kid: nil, key: .curve(Issuer.curve), alg: "ES256"), tokens) == "taken")
  }

  /// RFC 7517 5: what is not understood is passed over; what is meant for something else is not used.
  @Test func aSetMayHoldWhatWeDoNotKnow() async throws {
    let curve = Issuer.curve.publicKey
    try publish([
      ["kty": "OKP", "crv": "Ed25519", "x": "AA", "kid": "o"], ["kty": "oct", "k": base64(Issuer.secret), "kid": "s"],
      ["kty": "EC", "crv": "P-521", "x": "AA", "y": "AA", "kid": "p"], ["kid": "nothing"],
      try JWKSet.rsa(Issuer.rsa.publicKey, "e", more: ["use": "enc"]),
      try JWKSet.rsa(Issuer.rsa.publicKey, "5", more: ["alg": "RS512"]),
      ["kty": "RSA", "n": "AQAB", "e": "AQAB", "kid": "small"],
      ["kty": "RSA", "n": String(repeating: "_", count: 100_000), "e": "AQAB", "kid": "large"],
      JWKSet.curve(curve, "2", more: ["use": "sig", "alg": "ES256"]),
    ])
    let tokens = try tokens()
    #expect(try await refusal(token(kid: "2", key: .curve(Issuer.curve), alg: "ES256"), tokens) == "taken")
    for kid in ["e", "5", "o", "s", "p"] {
      #expect(try await refusal(token(kid: kid), tokens).contains("signature"), "\(kid)")
    }
    for document in ["", "[]", "{}", #"{"keys":{}}"#, #"{"keys":[]}"#, "no JSON"] {
      let other = Web()
      other.put(keys, Document(Array(document.utf8)))
      let provider = Provider(
        name: "google", domain: "a.example", issuers: ["https://accounts.example"], audiences: ["app"], keySet: keys)
      let tokens = try TokenVerifier(backends: [], providers: [provider], documents: other, clock: clock)
      guard case .failure(let problem) = await outcome(try token(), tokens) else {
        Issue.record("taken with \(document)")
        continue
      }
      #expect(problem.code == "issuer-unreachable" && problem.kind == .overloaded)
    }
  }

  /// A new key is fetched when a token names it, but not for every token with an unknown name.
  @Test func anUnknownKeyIsFetchedOnceInAWhile() async throws {
    try publish([try JWKSet.rsa(Issuer.rsa.publicKey, "1")])
    let tokens = try tokens()
    #expect(try await refusal(token(), tokens) == "taken")
    for _ in 0..<20 { #expect(try await refusal(token(kid: "made-up"), tokens).contains("signature")) }
    #expect(web.asked.count == 1)
    clock.advance(30)
    try publish([JWKSet.curve(Issuer.curve.publicKey, "2")])
    #expect(try await refusal(token(kid: "2", key: .curve(Issuer.curve), alg: "ES256"), tokens) == "taken")
    #expect(web.asked.count == 2)
    // The old one is gone.
    for _ in 0..<20 { #expect(try await refusal(token(), tokens).contains("signature")) }
    #expect(web.asked.count == 2)
  }

  @Test func keysAreKeptAsLongAsTheyAreGood() async throws {
    let key = try JWKSet.rsa(Issuer.rsa.publicKey, "1")
    try publish([key], cacheControl: "public, max-age=7200, must-revalidate")
    let tokens = try tokens()
    for seconds: Int64 in [0, 3_600, 3_599] {
      clock.advance(seconds)
      #expect(try await refusal(token(), tokens) == "taken")
    }
    #expect(web.asked.count == 1)
    // Old, and nobody answers: they are good for another day, and are asked for now and then.
    clock.advance(1)
    web.put(keys, nil)
    for _ in 0..<20 { #expect(try await refusal(token(), tokens) == "taken") }
    #expect(web.asked.count == 2)
    clock.advance(5)
    #expect(try await refusal(token(), tokens) == "taken")
    #expect(web.asked.count == 3)
    clock.advance(86_400)
    #expect(try await refusal(token(), tokens).contains("cannot be had"))
    try publish([key])
    clock.advance(5)
    #expect(try await refusal(token(), tokens) == "taken")
  }

  @Test func cacheControlHasBounds() {
    func fresh(_ text: String?, age: String? = nil) -> Int { Document([], cacheControl: text, age: age).freshSeconds }
    #expect(fresh(nil) == 3_600)
    #expect(fresh("public") == 3_600)
    #expect(fresh("max-age=600") == 600)
    #expect(fresh("Public, Max-Age = 600") == 600)
    #expect(fresh("max-age=600", age: "500") == 100)
    #expect(fresh("max-age=600", age: "9999999999") == 60)
    #expect(fresh("max-age=0") == 60)
    #expect(fresh("max-age=600, no-store") == 60)
    #expect(fresh("no-cache") == 60)
    #expect(fresh("max-age=99999999") == 86_400)
    #expect(fresh("max-age=soon") == 3_600)
    #expect(fresh("max-age=-9223372036854775808", age: "9223372036854775807") == 60)
  }

  /// Many at the same moment ask once.
  @Test func manyAskOnce() async throws {
    try publish([try JWKSet.rsa(Issuer.rsa.publicKey, "1")])
    let tokens = try tokens()
    let text = try token()
    let taken = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<50 {
        group.addTask { (try? await tokens.verify(.provider("google", idToken: text), for: "a.example")) != nil }
      }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(taken == 50)
    #expect(web.asked.count == 1)
  }

  /// OpenID Connect Discovery 1.0, 4.
  @Test func theIssuerTellsWhereItsKeysAre() async throws {
    let place = "https://accounts.example/.well-known/openid-configuration"
    func discovery(_ issuer: String, _ keySet: String) -> Document {
      Document(Array(#"{"issuer":"\#(issuer)","jwks_uri":"\#(keySet)"}"#.utf8))
    }
    try publish([try JWKSet.rsa(Issuer.rsa.publicKey, "1")])
    web.put("http://keys.example/set", Document(try JWKSet.text([try JWKSet.rsa(Issuer.rsa.publicKey, "1")])))
    for (issuer, keySet, isGood) in [
      ("https://evil.example", keys, false), ("https://accounts.example/", keys, false),
      ("https://accounts.example", "http://keys.example/set", false),
      ("https://accounts.example", "https://elsewhere.example/none", false), ("https://accounts.example", keys, true),
    ] {
      web.put(place, discovery(issuer, keySet))
      let text = await refusal(try token(), try tokens { $0.keySet = nil })
      #expect((text == "taken") == isGood, "\(issuer) \(keySet): \(text)")
    }
  }

  /// Identities that were proved to the provider count; others that a user only claims do not.
  @Test func contactsMustBeVerified() async throws {
    try publish([try JWKSet.rsa(Issuer.rsa.publicKey, "1")])
    let tokens = try tokens()
    func contacts(_ changes: [String: Any?]) async throws -> [Identity] {
      try await outcome(token(changes), tokens).get().contacts
    }
    let email = Identity(.email, "juliet@capulet.example")
    #expect(try await contacts(["email": "Juliet@Capulet.example", "email_verified": true]) == [email])
    for verified: Any? in [nil, false, "true", 1, "yes"] {
      #expect(try await contacts(["email": "juliet@capulet.example", "email_verified": verified]) == [])
    }
    for wrong: Any in [
      "", "juliet", "@capulet.example", "a@b@c.example", "a b@c.example", "a@localhost", "ä@c.example", 7,
    ] {
      #expect(try await contacts(["email": wrong, "email_verified": true]) == [], "\(wrong)")
    }
    let phone = Identity(.phone, "+39045800000")
    #expect(try await contacts(["phone_number": "+39045800000"]) == [])
    #expect(try await contacts(["phone_number": "+39045800000", "phone_number_verified": true]) == [phone])
    #expect(
      try await contacts(["phone_number": "+39045800000", "firebase": ["sign_in_provider": "phone"]]) == [phone])
    #expect(try await contacts(["phone_number": "+39045800000", "firebase": ["sign_in_provider": "custom"]]) == [])
    for wrong in ["39045800000", "+039045800000", "+39 045 800000", "+1", "+1234567890123456"] {
      #expect(try await contacts(["phone_number": wrong, "phone_number_verified": true]) == [], "\(wrong)")
    }
    let distrusting = try self.tokens { $0.provesContacts = false }
    let text = try token(["email": "juliet@capulet.example", "email_verified": true])
    #expect(try await outcome(text, distrusting).get().contacts == [])
  }
}
