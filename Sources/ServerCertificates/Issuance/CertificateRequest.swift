import Crypto
import SwiftASN1
import X509

/// The documents that are signed for an authority: a request for a certificate (RFC 2986), and the certificates that
/// prove names.
enum CertificateRequest {
  /// Returns a request in DER. It has all names in its alternative names, and no subject (RFC 8555 7.4).
  static func make(_ names: [String], key: P256.Signing.PrivateKey) throws -> [UInt8] {
    let extensions = try Certificate.Extensions { SubjectAlternativeNames(names.map { .dnsName($0) }) }
    let attribute = try CertificateSigningRequest.Attribute(ExtensionRequest(extensions: extensions))
    let request = try CertificateSigningRequest(
      version: .v1, subject: DistinguishedName(), privateKey: Certificate.PrivateKey(key),
      attributes: CertificateSigningRequest.Attributes([attribute]))
    var serializer = DER.Serializer()
    try serializer.serialize(request)
    return serializer.serializedBytes
  }
}
