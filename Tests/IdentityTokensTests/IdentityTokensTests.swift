import Accounts
import Crypto
import CryptoExtras
import Dialogs
import Foundation
import JWTKit
import Testing

@testable import IdentityTokens

/// Tokens of an app's own backend.
@Suite struct BackendTokenTests {
  private let clock = HandClock()
  private let web = Web()

  private func tokens(_ backends: [Backend]? = nil) throws -> TokenVerifier {
    let standard = Backend(name: "verona", domain: "a.example", secrets: [Issuer.other, Issuer.secret])
    return try TokenVerifier(backends: backends ?? [standard], providers: [], documents: web, clock: clock)
  }

  private func claims(_ changes: [String: Any?] = [:]) -> [String: Any?] {
    let now = clock.seconds
    let claims: [String: Any?] = [
      "iss": "verona", "iat": now, "exp": now + 60, "nbf": now, "nce": "n", "prn": "romeo@montague.example",
      "name": "Romeo",
    ]
    return claims.merging(changes) { _, new in new }
  }

  private func header(_ changes: [String: Any?] = [:]) -> [String: Any?] {
    ["alg": "HS256", "typ": "JWT", "ver": "v2"].merging(changes) { _, new in new }
  }

  /// The proof, or the code of the refusal with its reason.
  private func outcome(
    _ token: String, _ tokens: TokenVerifier? = nil, domain: String = "a.example"
  ) async throws -> Result<IdentityProof, Problem> {
    let tokens = try tokens ?? self.tokens()
    do throws(Problem) { return .success(try await tokens.verify(.backend(token), for: domain)) } catch {
      return .failure(error)
    }
  }

  private func refusal(
    _ header: [String: Any?], _ claims: [String: Any?], _ key: Issuer.Key = .secret(Issuer.secret),
    _ tokens: TokenVerifier? = nil, domain: String = "a.example"
  ) async throws -> String {
    let outcome = try await outcome(try Issuer(key: key).token(header, claims), tokens, domain: domain)
    guard case .failure(let problem) = outcome else { return "taken" }
    #expect(problem.kind == .unauthenticated)
    return problem.text
  }

  @Test func aRightOneSaysWhoComes() async throws {
    let token = try Issuer(key: .secret(Issuer.secret)).token(
      header(), claims(["avatar_url": "https://montague.example/romeo.png"]))
    let proof = try await outcome(token).get()
    #expect(
      proof
        == IdentityProof(
          Identity(.external, "romeo@montague.example"), localpart: "romeo@montague.example", displayName: "Romeo",
          renames: true, pictureURL: "https://montague.example/romeo.png", nonce: "n", needsNonce: true,
          admitsNewcomers: true))
    #expect(try tokens().hasBackend("a.example") && !tokens().hasBackend("b.example"))
  }

  /// The token was made by an independent library.
  @Test func thoseOfAnIndependentLibraryAreTaken() async throws {
    struct Claims: JWTPayload {
      var iss = "verona"
      var iat: Int64
      var exp: Int64
      var nbf: Int64
      var nce = "n"
      var prn = "juliet"
      func verify(using algorithm: some JWTAlgorithm) async throws {}
    }
    let keys = JWTKeyCollection()
    await keys.add(hmac: HMACKey(from: Issuer.secret), digestAlgorithm: .sha256, kid: "hs")
    await keys.add(
      rsa: try Insecure.RSA.PrivateKey(pem: Issuer.rsa.pemRepresentation), digestAlgorithm: .sha256, kid: "rs")
    await keys.add(ecdsa: try ES256PrivateKey(pem: Issuer.curve.pemRepresentation), kid: "es")
    let backend = Backend(
      name: "verona", domain: "a.example", secrets: [Issuer.secret],
      publicKeys: [Issuer.rsa.publicKey.pemRepresentation, Issuer.curve.publicKey.pemRepresentation])
    let tokens = try tokens([backend])
    for kid in ["hs", "rs", "es"] {
      let claims = Claims(iat: clock.seconds, exp: clock.seconds + 60, nbf: clock.seconds)
      let token = try await keys.sign(claims, kid: JWKIdentifier(string: kid), header: ["typ": "JWT", "ver": "v2"])
      #expect(try await outcome(token, tokens).get().identity == Identity(.external, "juliet"), "\(kid)")
    }
  }

  /// The algorithm goes with the key: RFC 8725 2.1, 3.1.
  @Test func noAlgorithmIsTakenFromTheToken() async throws {
    let (rsa, curve) = (Issuer.rsa.publicKey, Issuer.curve.publicKey)
    let backend = Backend(
      name: "verona", domain: "a.example", publicKeys: [rsa.pemRepresentation, curve.pemRepresentation])
    let published = try tokens([backend])
    for alg in ["none", "None", "NONE", "nOnE", "HS384", "HS512", "RS512", "PS256", "ES384", "EdDSA", "", "hs256"] {
      #expect(try await refusal(header(["alg": alg]), claims(), .none).contains("alg is none of"), "\(alg)")
      #expect(try await refusal(header(["alg": alg]), claims()).contains("alg is none of"), "\(alg)")
    }
    #expect(try await refusal(header(["alg": nil]), claims()).contains("alg is none of"))
    // The token names an accepted algorithm, and has no signature.
    for alg in ["HS256", "RS256", "ES256"] {
      #expect(try await refusal(header(["alg": alg]), claims(), .none).contains("signature"))
      #expect(try await refusal(header(["alg": alg]), claims(), .none, published).contains("signature"))
    }
    // A public key, in every form that somebody may have it, as a secret.
    let forms: [[UInt8]] = [
      Array(rsa.pemRepresentation.utf8), Array(rsa.pemRepresentation.utf8) + [0x0a], Array(rsa.derRepresentation),
      Array(curve.pemRepresentation.utf8), Array(curve.derRepresentation), Array(curve.x963Representation),
    ]
    for form in forms {
      #expect(try await refusal(header(), claims(), .secret(form), published).contains("signature"))
    }
    // An algorithm that does not go with the signature.
    #expect(try await refusal(header(["alg": "ES256"]), claims(), .rsa(Issuer.rsa), published).contains("signature"))
    #expect(
      try await refusal(header(["alg": "RS256"]), claims(), .curve(Issuer.curve), published).contains("signature"))
    #expect(try await refusal(header(["alg": "RS256"]), claims(), .rsa(Issuer.rsa)).contains("signature"))
    #expect(try await refusal(header(["alg": "RS256"]), claims(), .rsa(Issuer.rsa), published) == "taken")
    #expect(try await refusal(header(["alg": "ES256"]), claims(), .curve(Issuer.curve), published) == "taken")
    // A key that the token brings itself.
    #expect(
      try await refusal(
        header(["alg": "RS256", "jwk": try JWKSet.rsa(rsa, "own"), "kid": "own"]), claims(), .rsa(Issuer.rsa)
      ).contains("signature"))
  }

  @Test func theHeaderIsThatOfTheFlow() async throws {
    #expect(try await refusal(header(["typ": "jose"]), claims()).contains("typ"))
    #expect(try await refusal(header(["typ": nil]), claims()).contains("typ"))
    #expect(
      try await refusal(header(["ver": "v1"]), claims())
        == #"Identity token refused: its header needs "ver": "v2"."#)
    #expect(try await refusal(header(["ver": nil]), claims()).contains("ver"))
    #expect(try await refusal(header(["ver": 2]), claims()).contains("ver"))
    #expect(try await refusal(header(["kid": 7]), claims()).contains("kid"))
    #expect(try await refusal(header(["crit": ["exp"]]), claims()).contains("extensions"))
    #expect(try await refusal(header(["kid": "whatever"]), claims()) == "taken")
  }

  @Test func timesAreLookedAt() async throws {
    let now = clock.seconds
    #expect(try await refusal(header(), claims(["exp": now - 60])).contains("has expired"))
    #expect(try await refusal(header(), claims(["iat": now - 100, "exp": now - 59])) == "taken")
    #expect(try await refusal(header(), claims(["exp": nil])).contains("exp is missing"))
    #expect(try await refusal(header(), claims(["iat": nil])).contains("iat is missing"))
    #expect(try await refusal(header(), claims(["nbf": nil])).contains("nbf is missing"))
    #expect(try await refusal(header(), claims(["nbf": now + 60])) == "taken")
    #expect(try await refusal(header(), claims(["nbf": now + 61])).contains("nbf is in the future"))
    #expect(try await refusal(header(), claims(["iat": now + 61, "exp": now + 99])).contains("iat is in the future"))
    #expect(try await refusal(header(), claims(["exp": now + 3_600])) == "taken")
    #expect(try await refusal(header(), claims(["exp": now + 3_601])).contains("seconds behind iat"))
    #expect(try await refusal(header(), claims(["iat": now + 30, "exp": now + 20])).contains("seconds behind iat"))
    for wrong: Any in ["soon", true, -1, 1e300, [1]] {
      #expect(try await refusal(header(), claims(["exp": wrong])).contains("exp is no time"), "\(wrong)")
    }
    #expect(try await refusal(header(), claims(["exp": Double(now) + 59.5])) == "taken")
    // Those of a token that was right once.
    let token = try Issuer(key: .secret(Issuer.secret)).token(header(), claims())
    clock.advance(119)
    #expect((try? await outcome(token).get()) != nil)
    clock.advance(1)
    guard case .failure(let problem) = try await outcome(token) else {
      Issue.record("an old token was taken")
      return
    }
    #expect(problem.code == "identity-token-expired")
  }

  @Test func theTokenMustNameItsIssuerAndUser() async throws {
    #expect(try await refusal(header(), claims(["iss": "mantua"])).contains("iss"))
    #expect(try await refusal(header(), claims(["iss": nil])).contains("iss"))
    #expect(try await refusal(header(), claims(["iss": ["verona"]])).contains("iss"))
    #expect(try await refusal(header(), claims(["nce": nil])).contains("nce"))
    #expect(try await refusal(header(), claims(["nce": 5])).contains("nce"))
    for principal: Any? in [nil, "", " romeo", "romeo\n", "ro\u{0}meo", "\u{85}", "\u{fffe}", 7, ["romeo"]] {
      #expect(try await refusal(header(), claims(["prn": principal])).contains("prn"), "\(principal ?? "nil")")
    }
    let long = String(repeating: "x", count: 257)
    #expect(try await refusal(header(), claims(["prn": long])).contains("prn"))
    #expect(try await refusal(header(), claims(["prn": String(long.dropFirst())])) == "taken")
    #expect(try await refusal(header(), claims(["name": long])).contains("name"))
    #expect(try await refusal(header(), claims(["name": "a\u{1b}b"])).contains("name"))
    for name: Any? in [nil, "", NSNull()] {
      let token = try Issuer(key: .secret(Issuer.secret)).token(header(), claims(["name": name]))
      #expect(try await outcome(token).get().displayName == nil)
    }
    // Nobody is refused for a picture.
    for url in ["file:///etc/passwd", "ftp://x", "//x", "", "https://" + String(repeating: "x", count: 2_048)] {
      let token = try Issuer(key: .secret(Issuer.secret)).token(header(), claims(["avatar_url": url]))
      #expect(try await outcome(token).get().pictureURL == nil)
    }
  }

  @Test func textThatIsNoTokenIsRefused() async throws {
    let good = try Issuer(key: .secret(Issuer.secret)).token(header(), claims())
    let parts = good.split(separator: ".").map(String.init)
    var wrong = [
      "", ".", "..", "...", "a.b.c", good + ".", "." + good, good + "=", parts[0] + "." + parts[1], good + ".x.y",
      " " + good, parts[0] + "." + parts[1] + ".", "\(parts[0])+.\(parts[1]).\(parts[2])", "ü.\(parts[1]).\(parts[2])",
    ]
    // Every truncation, and every turned bit of the signature.
    wrong += (0..<good.utf8.count).map { String(good.prefix($0)) }
    var signature = Array(parts[2].utf8)
    for index in signature.indices {
      signature[index] ^= 1
      wrong.append("\(parts[0]).\(parts[1]).\(String(decoding: signature, as: UTF8.self))")
      signature[index] ^= 1
    }
    let tokens = try tokens()
    for text in wrong {
      guard case .failure(let problem) = try await outcome(text, tokens) else {
        Issue.record("taken: \(text)")
        continue
      }
      #expect(problem.kind == .unauthenticated && problem.code == "identity-token-invalid", "\(text)")
    }
    // The same bytes in other letters: the last one of a HS256 signature has two bits of no meaning.
    let issuer = Issuer(key: .secret(Issuer.secret))
    for (header, claims) in [
      ("[]", "{}"), ("{}", "[]"), ("{", "{}"), (#"{"alg":"HS256","alg":"none"}"#, "{}"), ("null", "null"),
      (String(repeating: "[", count: 2_000), "{}"),
    ] {
      guard case .failure = try await outcome(try issuer.token(header: header, claims: claims), tokens) else {
        Issue.record("taken: \(header)")
        continue
      }
    }
    guard case .failure(let huge) = try await outcome(String(repeating: "a", count: 16_385), tokens) else {
      Issue.record("a huge token was taken")
      return
    }
    #expect(huge.kind == .tooLarge)
  }

  /// A token is valid only in a realm that knows its issuer, even if another realm has the same key.
  @Test func realmsAreApart() async throws {
    let tokens = try tokens([
      Backend(name: "one", domain: "a.example", secrets: [Issuer.secret]),
      Backend(name: "two", domain: "b.example", secrets: [Issuer.secret], admitsNewcomers: false),
      Backend(name: "both", domain: "a.example", secrets: [Issuer.secret]),
      Backend(name: "both", domain: "b.example", secrets: [Issuer.other]),
    ])
    #expect(try await refusal(header(), claims(["iss": "one"]), .secret(Issuer.secret), tokens) == "taken")
    #expect(
      try await refusal(header(), claims(["iss": "one"]), .secret(Issuer.secret), tokens, domain: "b.example")
        .contains("iss"))
    #expect(
      try await refusal(header(), claims(["iss": "two"]), .secret(Issuer.secret), tokens).contains("iss"))
    #expect(
      try await refusal(header(), claims(["iss": "both"]), .secret(Issuer.secret), tokens, domain: "b.example")
        .contains("signature"))
    let token = try Issuer(key: .secret(Issuer.secret)).token(header(), claims(["iss": "two"]))
    #expect(try await outcome(token, tokens, domain: "b.example").get().admitsNewcomers == false)
    guard case .failure(let off) = try await outcome(token, tokens, domain: "c.example") else {
      Issue.record("taken where there is no backend")
      return
    }
    #expect(off.code == "grant-off")
  }

  @Test func weakKeysAreNotTaken() throws {
    #expect(throws: KeyError.self) {
      try tokens([Backend(name: "x", domain: "a.example", secrets: [Array("short".utf8)])])
    }
    #expect(throws: KeyError.self) { try tokens([Backend(name: "x", domain: "a.example")]) }
    let small = try _RSA.Signing.PrivateKey(unsafeKeySize: .init(bitCount: 1_024)).publicKey.pemRepresentation
    let larger = P384.Signing.PrivateKey().publicKey.pemRepresentation
    for pem in [small, larger, "", "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----"] {
      #expect(throws: KeyError.self) { try tokens([Backend(name: "x", domain: "a.example", publicKeys: [pem])]) }
    }
  }

  /// Published keys of a backend are for signatures; a published secret is not accepted.
  @Test func aBackendMayPublishItsKeys() async throws {
    let url = "https://verona.example/keys"
    web.put(
      url,
      Document(
        try JWKSet.text([
          ["kty": "oct", "k": base64(Issuer.secret), "kid": "s"], try JWKSet.rsa(Issuer.rsa.publicKey, "r"),
        ])))
    let tokens = try tokens([Backend(name: "verona", domain: "a.example", keySet: url)])
    #expect(try await refusal(header(["alg": "RS256", "kid": "r"]), claims(), .rsa(Issuer.rsa), tokens) == "taken")
    #expect(try await refusal(header(["kid": "s"]), claims(), .secret(Issuer.secret), tokens).contains("signature"))
    #expect(
      try await refusal(header(["alg": "RS256", "kid": "q"]), claims(), .rsa(Issuer.rsa), tokens).contains("signature"))
  }
}
