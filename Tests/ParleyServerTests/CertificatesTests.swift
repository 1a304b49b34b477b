import Basics
import Crypto
import Foundation
import Logging
import NIOSSL
import ServerConfiguration
import ServerFixtures
import SwiftASN1
import Testing
import X509

@testable import ParleyServer
@testable import ServerCertificates

@Suite struct CertificatesTests {
  private func settings(_ folder: String, _ values: [String: String]) throws -> Settings {
    try Settings.load(
      SettingsArguments(values: [("data", folder, "--data")] + values.map { ($0.key, $0.value, "--set") }),
      environment: [:], standardFiles: [])
  }

  @Test func theSelfSignedOneIsMadeOnceAndAgainForNewDomains() throws {
    try withScratchFolder { folder in
      #expect(try SelfSigned.prepare(in: folder, names: ["a.example"]))
      #expect(try !SelfSigned.prepare(in: folder, names: ["a.example"]))
      #expect(try SelfSigned.prepare(in: folder, names: ["a.example", "b.example"]))
      let pem = String(decoding: try Files.read(SelfSigned.chainPath(folder), bytesMax: 100_000), as: UTF8.self)
      let names = try #require(try Certificate(pemEncoded: pem).extensions.subjectAlternativeNames)
      #expect(
        names.compactMap { if case .dnsName(let name) = $0 { name } else { nil } }
          == ["a.example", "b.example", "localhost"])
      let mode = try FileManager.default.attributesOfItem(atPath: SelfSigned.keyPath(folder))[.posixPermissions]
      #expect(mode as? Int == 0o600)
    }
  }

  /// The names of the self-signed certificate after a start with these values.
  private func selfSignedNames(_ folder: String, _ values: [String: String]) throws -> [String] {
    _ = try Certificates(
      settings(folder, ["domain": "a.example"].merging(values) { $1 }), folder: folder + "/tls", logger: quiet)
    let pem = String(
      decoding: try Files.read(SelfSigned.chainPath(folder + "/tls"), bytesMax: 100_000), as: UTF8.self)
    let names = try #require(try Certificate(pemEncoded: pem).extensions.subjectAlternativeNames)
    return names.compactMap { name -> String? in
      switch name {
      case .dnsName(let name): name
      case .ipAddress(let bytes): IPAddress(bytes: bytes.bytes)?.description
      default: nil
      }
    }
  }

  @Test(
    arguments: [
      ("https://chat.example.org", ["chat.example.org"]), ("https://chat.example.org:8443/path", ["chat.example.org"]),
      ("https://CHAT", ["chat"]), ("https://192.0.2.1:8443", ["192.0.2.1"]), ("https://[2001:db8::1]", ["2001:db8::1"]),
      ("https://a.example", []), ("https://conference.a.example", []), ("http://chat.example.org", []),
    ] as [(String, [String])])
  func theSelfSignedOneNamesTheHostOfTheURL(_ url: String, _ more: [String]) throws {
    let local = ["localhost", "127.0.0.1", "::1"]
    try withScratchFolder { folder in
      let names = try selfSignedNames(folder, ["http.url": url])
      #expect(names == ["a.example", "conference.a.example"] + more + local)
    }
    // Without the HTTPS port nobody expects it in the certificate.
    try withScratchFolder { folder in
      let names = try selfSignedNames(folder, ["http.url": url, "https.port": "0"])
      #expect(names == ["a.example", "conference.a.example"] + local)
    }
  }

  /// Clients have accepted it.
  @Test func anotherURLKeepsTheSelfSignedOne() throws {
    try withScratchFolder { folder in
      let names = try selfSignedNames(folder, [:])
      let chain = try Files.read(SelfSigned.chainPath(folder + "/tls"), bytesMax: 100_000)
      #expect(try selfSignedNames(folder, ["http.url": "https://chat.example.org"]) == names)
      #expect(try Files.read(SelfSigned.chainPath(folder + "/tls"), bytesMax: 100_000) == chain)
    }
  }

  /// The certificate of the first domain is the one for names that are of no domain.
  @Test func theSelfSignedOneOfAnotherDomainDoesNotNameTheHost() throws {
    try withScratchFolder { folder in
      let own = try SelfSigned.make(names: ["a.example"], now: Date())
      try Files.write(Array(own.chain.utf8), to: folder + "/a.pem", mode: 0o600)
      try Files.write(Array(own.key.utf8), to: folder + "/a.key", mode: 0o600)
      let yaml = """
        domains:
          - {name: a.example, certificate: \(folder)/a.pem, key: \(folder)/a.key}
          - {name: b.example}
        """
      try Files.write(Array(yaml.utf8), to: folder + "/parley.yaml", mode: 0o600)
      let settings = try Settings.load(
        SettingsArguments(
          file: folder + "/parley.yaml",
          values: [
            ("domain", "a.example", "--set"), ("data", folder, "--data"),
            ("http.url", "https://chat.example.org", "--set"),
          ]), environment: [:], standardFiles: [])
      let certificates = try Certificates(settings, folder: folder + "/tls", logger: quiet)
      let leaf = try #require(certificates.current(for: "b.example").first)
      let names = try #require(
        try Certificate(derEncoded: try leaf.toDERBytes()).extensions.subjectAlternativeNames)
      #expect(names.contains(.dnsName("b.example")) && !names.contains(.dnsName("chat.example.org")))
    }
  }

  @Test func aChangedFileIsReadAgainAndABrokenOneIsNot() throws {
    try withScratchFolder { folder in
      let chain = folder + "/chain.pem"
      let key = folder + "/key.pem"
      func write(_ pair: (chain: String, key: String)) throws {
        try Files.write(Array(pair.chain.utf8), to: chain, mode: 0o600)
        try Files.write(Array(pair.key.utf8), to: key, mode: 0o600)
      }
      let first = try SelfSigned.make(names: ["localhost"], now: Date())
      let second = try SelfSigned.make(names: ["localhost"], now: Date())
      try write(first)
      let certificates = try Certificates(
        settings(folder, ["tls.certificate": chain, "tls.key": key]), folder: openFolder(folder).certificates,
        logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
      let original = try #require(certificates.current(for: "localhost").first)
      #expect(original == (try NIOSSLCertificate.fromPEMBytes(Array(first.chain.utf8)))[0])

      // Half of a renewal: the new chain beside the old key.
      try write((second.chain, first.key))
      certificates.refresh()
      #expect(certificates.current(for: "localhost").first == original)

      try write(second)
      certificates.refresh()
      #expect(
        certificates.current(for: "localhost").first
          == (try NIOSSLCertificate.fromPEMBytes(Array(second.chain.utf8)))[0])
    }
  }

  @Test func theNameAskedForChoosesTheCertificate() throws {
    try withScratchFolder { folder in
      let own = try SelfSigned.make(names: ["b.example"], now: Date())
      try Files.write(Array(own.chain.utf8), to: folder + "/b.pem", mode: 0o600)
      try Files.write(Array(own.key.utf8), to: folder + "/b.key", mode: 0o600)
      let yaml = "domains: [{name: b.example, certificate: \(folder)/b.pem, key: \(folder)/b.key}]\ndata: \(folder)\n"
      try Files.write(Array(yaml.utf8), to: folder + "/parley.yaml", mode: 0o600)
      let settings = try Settings.load(
        SettingsArguments(file: folder + "/parley.yaml"), environment: [:], standardFiles: [])
      let certificates = try Certificates(
        settings, folder: openFolder(folder).certificates,
        logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
      let second = try NIOSSLCertificate.fromPEMBytes(Array(own.chain.utf8))
      #expect(certificates.current(for: "b.example") == second)
      #expect(certificates.current(for: "conference.B.example") == second)
      #expect(certificates.current(for: "localhost") != second)
      #expect(certificates.current(for: "stranger.example") == certificates.current(for: "localhost"))
      #expect(certificates.current(for: nil) == certificates.current(for: "localhost"))
      _ = try certificates.context(protocols: ["xmpp-client"])
    }
  }

  /// RFC 5929 4.1: by the hash of the signature; without one it is undefined.
  @Test func theEndPointIsHashedAsTheCertificateIsSigned() throws {
    func certificate(_ key: Certificate.PrivateKey, _ algorithm: Certificate.SignatureAlgorithm) throws -> [UInt8] {
      let name = try DistinguishedName { CommonName("localhost") }
      let made = try Certificate(
        version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: key.publicKey, notValidBefore: Date(),
        notValidAfter: Date().addingTimeInterval(60), issuer: name, subject: name, signatureAlgorithm: algorithm,
        extensions: Certificate.Extensions(), issuerPrivateKey: key)
      var serializer = DER.Serializer()
      try serializer.serialize(made)
      return serializer.serializedBytes
    }
    let p256 = try certificate(.init(P256.Signing.PrivateKey()), .ecdsaWithSHA256)
    #expect(EndPoint.binding(p256) == Array(SHA256.hash(data: p256)))
    let p384 = try certificate(.init(P384.Signing.PrivateKey()), .ecdsaWithSHA384)
    #expect(EndPoint.binding(p384) == Array(SHA384.hash(data: p384)))
    let p521 = try certificate(.init(P521.Signing.PrivateKey()), .ecdsaWithSHA512)
    #expect(EndPoint.binding(p521) == Array(SHA512.hash(data: p521)))
    #expect(EndPoint.binding(try certificate(.init(Curve25519.Signing.PrivateKey()), .ed25519)) == nil)
    #expect(EndPoint.binding([0x30, 0x00]) == nil)
  }

  @Test func unusableFilesAreTold() throws {
    try withScratchFolder { folder in
      let pair = try SelfSigned.make(names: ["localhost"], now: Date())
      let other = try SelfSigned.make(names: ["localhost"], now: Date())
      try Files.write(Array(pair.chain.utf8), to: folder + "/chain", mode: 0o600)
      try Files.write(Array(other.key.utf8), to: folder + "/key", mode: 0o600)
      try Files.write(Array("nothing".utf8), to: folder + "/nothing", mode: 0o600)
      func check(_ chain: String, _ key: String) throws -> [String] {
        Certificates.check(
          try settings(folder, ["tls.certificate": "\(folder)/\(chain)", "tls.key": "\(folder)/\(key)"]))
      }
      #expect(
        try check("missing", "key") == [
          "the certificate \(folder)/missing cannot be read: there is no such file or folder"
        ])
      #expect(
        try check("chain", "missing") == [
          "the private key \(folder)/missing cannot be read: there is no such file or folder"
        ])
      #expect(try check("nothing", "key") == ["the certificate \(folder)/nothing holds no certificate as PEM"])
      #expect(
        try check("chain", "nothing") == ["the private key \(folder)/nothing is no unencrypted private key as PEM"])
      #expect(
        try check("chain", "key") == [
          "the private key \(folder)/key does not belong to the certificate \(folder)/chain"
        ])
    }
  }
}
