import Addresses
import Basics
import Crypto
import FoundationEssentials
import Glibc
import ServerConfiguration
import SwiftASN1
import X509

/// The self-signed P-256 certificate of a server without a configured one. It is kept in the data folder, so that
/// clients that trust it keep doing so.
enum SelfSigned {
  static func chainPath(_ folder: String) -> String { folder + "/self-signed.pem" }
  static func keyPath(_ folder: String) -> String { folder + "/self-signed.key" }

  /// Creates chain and key unless the existing ones cover all of `names` and are valid for long enough.
  ///
  /// - Parameter host: A further name of a new certificate. An existing one without it stays, since clients have accepted it.
  /// - Returns: Whether they were created.
  @discardableResult
  static func prepare(in folder: String, names: [String], host: String? = nil) throws(StartupError) -> Bool {
    if isGood(chainPath(folder), keyPath(folder), names: names) { return false }
    let made: (chain: String, key: String)
    do {
      made = try make(names: names + (host.map { [$0] } ?? []), now: Date())
    } catch {
      throw StartupError("the self-signed certificate cannot be made: \(error)")
    }
    do {
      try Files.makeFolder(folder, mode: 0o700)
      // The key is written first: a crash in between leaves a mismatched pair, which the next start replaces.
      try Files.write(Array(made.key.utf8), to: keyPath(folder), mode: 0o600)
      try Files.write(Array(made.chain.utf8), to: chainPath(folder), mode: 0o644)
    } catch {
      throw StartupError("the self-signed certificate cannot be written to \(error.path): \(error.reason)")
    }
    return true
  }

  private static func isGood(_ chain: String, _ key: String, names: [String]) -> Bool {
    let soon = Date().addingTimeInterval(Double(CertificateLimits.selfSignedRenewalDays) * 86_400)
    do {
      let bytes = try Files.read(chain, bytesMax: CertificateLimits.fileBytesMax)
      let certificate = try Certificate(pemEncoded: String(decoding: bytes, as: UTF8.self))
      let keyBytes = try Files.read(key, bytesMax: CertificateLimits.fileBytesMax)
      let privateKey = try Certificate.PrivateKey(pemEncoded: String(decoding: keyBytes, as: UTF8.self))
      guard privateKey.publicKey == certificate.publicKey, certificate.notValidAfter > soon else { return false }
      let held = try certificate.extensions.subjectAlternativeNames.map(Array.init) ?? []
      return alternatives(names).allSatisfy(held.contains)
    } catch {
      return false
    }
  }

  /// Returns chain and key as PEM.
  static func make(names: [String], now: Date) throws -> (chain: String, key: String) {
    let key = P256.Signing.PrivateKey()
    let name = try DistinguishedName { CommonName(names.first ?? "localhost") }
    let certificate = try Certificate(
      version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: Certificate.PublicKey(key.publicKey),
      // An hour of tolerance for clients' clocks.
      notValidBefore: now.addingTimeInterval(-3_600),
      notValidAfter: now.addingTimeInterval(Double(CertificateLimits.selfSignedDays) * 86_400),
      issuer: name, subject: name, signatureAlgorithm: .ecdsaWithSHA256,
      extensions: try Certificate.Extensions {
        // The certificate is a CA, so that it can be added to a trust store as it is.
        Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
        Critical(KeyUsage(digitalSignature: true, keyCertSign: true))
        try ExtendedKeyUsage([.serverAuth])
        SubjectAlternativeNames(alternatives(names))
      },
      issuerPrivateKey: Certificate.PrivateKey(key))
    return (try certificate.serializeAsPEM().pemString, key.pemRepresentation)
  }

  /// Returns the names and those of the local host, on which a server is tried first.
  private static func alternatives(_ names: [String]) -> [GeneralName] {
    var all: [String] = []
    for name in names + ["localhost", "127.0.0.1", "::1"] where !all.contains(name) { all.append(name) }
    return all.map { name -> GeneralName in
      // RFC 5280 4.2.1.6: an address is no dNSName.
      guard let address = IPAddress(name) else { return .dnsName(ascii(name)) }
      return .ipAddress(ASN1OctetString(contentBytes: address.bytes[...]))
    }
  }

  /// Returns the domain in A-labels, the form of certificates and of TLS's server name (RFC 5280 7.2).
  private static func ascii(_ domain: String) -> String { AsciiDomain.of(domain) }
}
