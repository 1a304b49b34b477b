import Basics
import Testing
import XMPPFixtures

@testable import XMPP

/// Several passwords under one salt.
@Suite struct SCRAMAlternativesTests {
  @Test(arguments: SCRAMMechanism.allCases) func eachFitsAndSaysWhichItIs(mechanism: SCRAMMechanism) throws {
    let salt = bytes("salt")
    func keys(_ password: String) -> SCRAMKeyPair {
      let salted = mechanism.saltedPassword(bytes(password), salt: salt, iterations: 8)
      return SCRAMKeyPair(
        storedKey: mechanism.hash(mechanism.hmac(key: salted, bytes("Client Key"))),
        serverKey: mechanism.hmac(key: salted, bytes("Server Key")))
    }
    let credentials = SCRAMCredentials(
      salt: salt, iterations: 8, storedKey: keys("own").storedKey, serverKey: keys("own").serverKey,
      alternatives: [keys("one"), keys("two")])
    for (password, index) in [("own", 0), ("one", 1), ("two", 2), ("three", nil)] as [(String, Int?)] {
      var client = SCRAMClient(mechanism: mechanism, username: "juliet", password: password, nonce: "abc")
      let exchange = SCRAMExchange(
        mechanism: mechanism, first: try SCRAMClientFirst(client.first), nonce: "def", credentials: credentials)
      let last = try client.respond(to: exchange.challenge)
      if let index {
        let (data, found) = try exchange.verify(last)
        #expect(found == index)
        try client.verify(data)
      } else {
        #expect(throws: SCRAMFault.proof) { try exchange.verify(last) }
      }
    }
  }
}

@Suite struct SCRAMTests {
  struct Exchange: Sendable {
    let mechanism: SCRAMMechanism
    let salt: String
    let clientNonce: String
    let serverNonce: String
    let proof: String
    let verifier: String

    /// The credentials that the server stores for the password "pencil".
    var credentials: SCRAMCredentials {
      let salted = mechanism.saltedPassword(bytes("pencil"), salt: Base64.decode(bytes(salt)) ?? [], iterations: 4096)
      return SCRAMCredentials(
        salt: Base64.decode(bytes(salt)) ?? [], iterations: 4096,
        storedKey: mechanism.hash(mechanism.hmac(key: salted, bytes("Client Key"))),
        serverKey: mechanism.hmac(key: salted, bytes("Server Key")))
    }
  }

  /// RFC 5802 5, RFC 7677 3; for SHA-512 the inputs of RFC 7677 3 and outputs by Python's hashlib, which also gives the
  /// first two.
  static let exchanges = [
    Exchange(
      mechanism: .sha1, salt: "QSXCR+Q6sek8bf92", clientNonce: "fyko+d2lbbFgONRv9qkxdawL",
      serverNonce: "3rfcNHYJY1ZVvWVs7j", proof: "v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=", verifier: "rmF9pqV8S7suAoZWja4dJRkFsKQ="
    ),
    Exchange(
      mechanism: .sha256, salt: "W22ZaJ0SNY7soEsUEjb6gQ==", clientNonce: "rOprNGfwEbeRWgbNEkqO",
      serverNonce: "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", proof: "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
      verifier: "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="),
    Exchange(
      mechanism: .sha512, salt: "W22ZaJ0SNY7soEsUEjb6gQ==", clientNonce: "rOprNGfwEbeRWgbNEkqO",
      serverNonce: "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0",
      proof: "gMGXRcevScNtxZ6/8lQYpGtnsNAc3mGcmNomv+xnoOMw+3R2xNJdMNnzMlTN8PPC6wdp6dybEmDYXYTxwnYPJQ==",
      verifier: "ZQnYEgWQMFmmsM8aQMF0nDDCy/AgCzkwk8CmMZYcMg0vSVlKDanekLtifDSeVGT4+5ZxXnJq199RVG2rR7N7Zw=="),
  ]

  @Test(arguments: exchanges) func vectors(exchange: Exchange) throws {
    let nonce = exchange.clientNonce + exchange.serverNonce
    let first = try SCRAMClientFirst(bytes("n,,n=user,r=\(exchange.clientNonce)"))
    #expect(first.username == "user")
    #expect(first.authzid == nil)
    let server = SCRAMExchange(
      mechanism: exchange.mechanism, first: first, nonce: exchange.serverNonce, credentials: exchange.credentials)
    #expect(text(server.challenge) == "r=\(nonce),s=\(exchange.salt),i=4096")
    let final = "c=biws,r=\(nonce),p=\(exchange.proof)"
    #expect(text(try server.finish(bytes(final))) == "v=\(exchange.verifier)")

    var client = SCRAMClient(
      mechanism: exchange.mechanism, username: "user", password: "pencil", nonce: exchange.clientNonce)
    #expect(text(client.first) == "n,,n=user,r=\(exchange.clientNonce)")
    #expect(text(try client.respond(to: server.challenge)) == final)
    #expect(throws: Never.self) { try client.verify(bytes("v=\(exchange.verifier)")) }
    #expect(throws: SCRAMFault.proof) { try client.verify(bytes("v=\(exchange.proof)")) }
  }

  /// RFC 5802 5.1: `=2C` and `=3D`.
  @Test func namesAreEscaped() throws {
    let client = SCRAMClient(
      mechanism: .sha256, username: "a,b=c", password: "x", nonce: "abc", authzid: "x=y@example.com")
    #expect(text(client.first) == "n,a=x=3Dy@example.com,n=a=2Cb=3Dc,r=abc")
    let first = try SCRAMClientFirst(client.first)
    #expect(first.username == "a,b=c")
    #expect(first.authzid == "x=y@example.com")
    #expect(text(first.gs2Header) == "n,a=x=3Dy@example.com,")
    #expect(text(first.bare) == "n=a=2Cb=3Dc,r=abc")
  }

  /// RFC 5802 7: the flags of channel binding; unknown extensions are ignored (5.1).
  @Test func otherGoodFirstMessages() throws {
    #expect(try SCRAMClientFirst(bytes("n,,n=user,r=abc")).bindingFlag == .unsupported)
    #expect(try SCRAMClientFirst(bytes("y,,n=user,r=abc")).bindingFlag == .unoffered)
    #expect(try SCRAMClientFirst(bytes("p=tls-unique,,n=user,r=abc")).bindingFlag == .used(type: "tls-unique"))
    #expect(try SCRAMClientFirst(bytes("n,,n=żółć,r=abc,x=ext,Z=a=b")).username == "żółć")
  }

  @Test(arguments: [
    ("", SCRAMFault.malformed), ("n", .malformed), ("n,", .malformed), ("n,,", .malformed),
    ("x,,n=user,r=abc", .malformed),
    ("N,,n=user,r=abc", .malformed), ("n,b=x,n=user,r=abc", .malformed), ("n,a=,n=user,r=abc", .malformed),
    ("n,,n=,r=abc", .malformed), ("n,,n=user", .malformed), ("n,,n=user,r=", .malformed),
    ("n,,r=abc,n=user", .malformed),
    ("n,,n=us=er,r=abc", .malformed), ("n,,n=us=2cer,r=abc", .malformed), ("n,,n=user=,r=abc", .malformed),
    ("n,,n=user,r=a b", .malformed), ("n,,n=user,r=ä", .malformed), ("n,,n=user,r=abc,", .malformed),
    ("n,,n=user,r=abc,x", .malformed), ("n,,n=user,r=abc,1=2", .malformed), ("n,,n=us\0er,r=abc", .malformed),
    ("n,,n=user,r=" + String(repeating: "a", count: 257), .malformed),
    ("n,,m=x,n=user,r=abc", .extensionRequired), ("n,,n=user,r=abc,m=x", .extensionRequired),
    ("p=,,n=user,r=abc", .malformed),
  ])
  func badFirstMessages(message: String, fault: SCRAMFault) {
    #expect(throws: fault) { try SCRAMClientFirst(bytes(message)) }
  }

  @Test func firstMessageOfBadUTF8() {
    #expect(throws: SCRAMFault.malformed) { try SCRAMClientFirst(bytes("n,,n=") + [0xFF] + bytes(",r=abc")) }
  }

  @Test(arguments: [
    ("c=biws,r=NONCE", SCRAMFault.malformed), ("c=biws,r=NONCE,p=", .malformed), ("c=biws,r=NONCE,p=!!!!", .malformed),
    ("r=NONCE,c=biws,p=PROOF", .malformed), ("c=biws,p=PROOF,r=NONCE", .malformed),
    ("c=biws,r=NONCE,p=PROOF,x=y", .malformed),
    ("c=b,r=NONCE,p=PROOF", .malformed), ("c=biws,r=NONCE,m=x,p=PROOF", .extensionRequired), ("", .malformed),
    ("c=eSws,r=NONCE,p=PROOF", .channelBinding), ("c=biws,r=NONCEx,p=PROOF", .nonce),
    ("c=biws,r=other,p=PROOF", .nonce),
    ("c=biws,r=NONCE,p=AAAA", .proof), ("c=biws,r=NONCE,p=AAAAAAAAAAAAAAAAAAAAAAAAAAA=", .proof),
    ("c=biws,r=NONCE,x=ext,p=PROOF", .proof),
  ])
  func badFinalMessages(message: String, fault: SCRAMFault) throws {
    let exchange = Self.exchanges[0]
    let first = try SCRAMClientFirst(bytes("n,,n=user,r=\(exchange.clientNonce)"))
    let server = SCRAMExchange(
      mechanism: .sha1, first: first, nonce: exchange.serverNonce, credentials: exchange.credentials)
    var final = ""
    for part in message.split(separator: ",", omittingEmptySubsequences: false) {
      var part = String(part)
      if part.hasPrefix("r=NONCE") { part = "r=" + exchange.clientNonce + exchange.serverNonce + part.dropFirst(7) }
      if part == "p=PROOF" { part = "p=" + exchange.proof }
      final += (final.isEmpty ? "" : ",") + part
    }
    #expect(throws: fault) { try server.finish(bytes(final)) }
  }

  /// RFC 5802 9: a hostile server; and a server that does not extend our nonce.
  @Test(arguments: [
    ("r=abcX,s=QSXCR+Q6sek8bf92,i=1000001", SCRAMFault.malformed), ("r=abcX,s=QSXCR+Q6sek8bf92,i=0", .malformed),
    ("r=abcX,s=,i=4096", .malformed), ("r=abc,s=QSXCR+Q6sek8bf92,i=4096", .nonce),
    ("r=xyz1,s=QSXCR+Q6sek8bf92,i=4096", .nonce),
    ("m=x,r=abcX,s=QSXCR+Q6sek8bf92,i=4096", .extensionRequired),
  ])
  func badChallenges(challenge: String, fault: SCRAMFault) {
    var client = SCRAMClient(mechanism: .sha1, username: "user", password: "pencil", nonce: "abc")
    #expect(throws: fault) { _ = try client.respond(to: bytes(challenge)) }
  }

  @Test func decoysAreStableAndDistinct() {
    let decoy = SCRAMDecoy(secret: [UInt8](repeating: 3, count: 32), iterations: 5000)
    let romeo = decoy.credentials(for: "romeo", mechanism: .sha256)
    #expect(romeo == decoy.credentials(for: "romeo", mechanism: .sha256))
    #expect(romeo.iterations == 5000)
    #expect(romeo.salt.count == 16)
    #expect(romeo.storedKey.count == 32)
    #expect(romeo.salt != decoy.credentials(for: "juliet", mechanism: .sha256).salt)
    #expect(romeo.salt != decoy.credentials(for: "romeo", mechanism: .sha1).salt)
    #expect(romeo.salt != SCRAMDecoy(secret: [1], iterations: 5000).credentials(for: "romeo", mechanism: .sha256).salt)
  }

  @Test(arguments: [
    (SCRAMMechanism.sha1, "SCRAM-SHA-1", 20), (.sha256, "SCRAM-SHA-256", 32), (.sha512, "SCRAM-SHA-512", 64),
  ])
  func mechanisms(mechanism: SCRAMMechanism, name: String, length: Int) {
    #expect(String(describing: mechanism.name) == name)
    #expect(mechanism.byteCount == length)
    #expect(mechanism.hash([]).count == length)
  }
}
