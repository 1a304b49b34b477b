import Basics
import Crypto
import FoundationEssentials
import ServerConfiguration
import ServerFixtures
import SwiftASN1
import Testing
import X509

@testable import ServerCertificates

/// What an ACME authority has issued, between the folder and the clients.
@Suite struct IssuedCertificateTests {
  /// Returns a chain and its key, as an authority would issue it for these names.
  private func make(_ names: [String]) throws -> (chain: String, key: P256.Signing.PrivateKey) {
    let made = try SelfSigned.make(names: names, now: Date())
    return (made.chain, try P256.Signing.PrivateKey(pemRepresentation: made.key))
  }

  private func write(_ made: (chain: String, key: P256.Signing.PrivateKey), _ names: [String], _ folder: String) throws
  {
    try Files.makeFolder(folder + "/acme", mode: 0o700)
    _ = try IssuedCertificate.write(chain: made.chain, key: made.key, for: names, at: SystemClock.now, in: folder)
  }

  @Test func domainsThatItNamesGetIt() throws {
    try withScratchFolder { data in
      let settings = try testSettings(
        data,
        [
          "domain": "a.example", "domains": "b.example", "tls.acme.enabled": "true", "tls.acme.terms_agreed": "true",
        ])
      let folder = data + "/tls"
      let certificates = try Certificates(settings, folder: folder, logger: quiet)
      #expect(certificates.served.map(\.origin) == [.selfSigned])
      try write(try make(["a.example"]), ["a.example"], folder)
      try certificates.issued()
      #expect(certificates.served.map(\.origin) == [.acme, .selfSigned])
      #expect(certificates.served.map(\.domains) == [["a.example"], ["b.example"]])
      // A file that is no certificate any more is as if it were not there.
      try Files.write(
        Array("-----BEGIN CERTIFICATE-----\nAAAA\n".utf8), to: IssuedCertificate.path(folder), mode: 0o600)
      #expect(try Certificates(settings, folder: folder, logger: quiet).served.map(\.origin) == [.selfSigned])
    }
  }

  @Test func whatTheAuthorityShouldNotHaveSentIsNotWritten() throws {
    try withScratchFolder { folder in
      let good = try make(["a.example"])
      try write(good, ["a.example"], folder)
      let before = try Files.read(IssuedCertificate.path(folder), bytesMax: 1 << 20)
      #expect(throws: (any Error).self) { try write((good.chain, P256.Signing.PrivateKey()), ["a.example"], folder) }
      #expect(throws: (any Error).self) { try write(try make(["b.example"]), ["a.example"], folder) }
      #expect(throws: (any Error).self) { try write(("no PEM", good.key), ["a.example"], folder) }
      // Another key among the certificates is left out.
      let extra = good.chain + "\n" + P256.Signing.PrivateKey().pemRepresentation
      try write((extra, good.key), ["a.example"], folder)
      #expect(try Files.read(IssuedCertificate.path(folder), bytesMax: 1 << 20) == before)
    }
  }

  @Test func theRequestHasTheNamesAndNoSubject() throws {
    let der = try CertificateRequest.make(["a.example", "b.example"], key: P256.Signing.PrivateKey())
    let request = try CertificateSigningRequest(derEncoded: der)
    let attribute = try #require(request.attributes[oid: [1, 2, 840, 113549, 1, 9, 14]])
    let names = try ExtensionRequest(attribute).extensions.subjectAlternativeNames
    #expect(names.map(Array.init) == [.dnsName("a.example"), .dnsName("b.example")] && request.subject.isEmpty)
  }
}
