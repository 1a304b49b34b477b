import ACME
import Basics
import Crypto
import SwiftASN1
import X509

/// The certificate that an ACME authority has issued. Its key and its chain are one file, which is replaced as a whole:
/// whatever crashes, they belong together.
struct IssuedCertificate: Sendable {
  let leaf: Certificate
  let names: CertificateNames

  static func path(_ folder: String) -> String { folder + "/acme/certificate.pem" }

  /// Reads the file; nil if there is none that can be used.
  static func read(_ folder: String) -> IssuedCertificate? {
    guard let bytes = try? Files.read(path(folder), bytesMax: CertificateLimits.fileBytesMax) else { return nil }
    return try? IssuedCertificate(String(decoding: bytes, as: UTF8.self))
  }

  /// Reads the text of a file.
  private init(_ text: String) throws {
    let documents = try PEMDocument.parseMultiple(pemString: text)
    guard let first = documents.first(where: { $0.discriminator == "CERTIFICATE" }),
      let key = documents.first(where: { $0.discriminator == "PRIVATE KEY" })
    else { throw CertificateFlaw("it is no certificate with its key") }
    leaf = try Certificate(derEncoded: first.derBytes)
    guard try Certificate.PrivateKey(pemDocument: key).publicKey == leaf.publicKey else {
      throw CertificateFlaw("it is for another key")
    }
    names = try CertificateNames(of: leaf)
  }

  /// Checks what an authority has sent, and puts it into the file.
  ///
  /// - Throws: A flaw, or a `Files.Failure`; the former certificate then stays.
  static func write(
    chain: String, key: P256.Signing.PrivateKey, for wanted: [String], at now: Timestamp, in folder: String
  ) throws -> IssuedCertificate {
    // Only certificates get into the file, whatever else the authority has sent.
    let documents = try PEMDocument.parseMultiple(pemString: chain).filter { $0.discriminator == "CERTIFICATE" }
    let text = ([key.pemRepresentation] + documents.map(\.pemString)).joined(separator: "\n") + "\n"
    let issued = try IssuedCertificate(text)
    if let missing = wanted.first(where: { !issued.names.cover(host: $0) }) {
      throw CertificateFlaw("it does not name \(missing)")
    }
    if issued.leaf.validUntil <= now { throw CertificateFlaw("it has expired") }
    try Files.write(Array(text.utf8), to: path(folder), mode: 0o600)
    return issued
  }

  func covers(_ names: [String]) -> Bool { names.allSatisfy { self.names.cover(host: $0) } }

  /// The name that an authority knows the certificate by (RFC 9773 4.1); nil if it does not say whose key has signed it.
  var name: String? {
    guard let authority = (try? leaf.extensions.authorityKeyIdentifier)?.keyIdentifier else { return nil }
    return RenewalInfo.certificate(authority: authority, serial: leaf.serialNumber.bytes)
  }

  /// A number from 0 to below 1 that is the certificate's own.
  var fraction: Double {
    let digest = SHA256.hash(data: Array(leaf.serialNumber.bytes))
    return Double(digest.prefix(2).reduce(0) { $0 << 8 | Int($1) }) / 65_536
  }
}
