import Basics
import Crypto
import CryptoExtras
import Foundation
import SwiftASN1
import X509

/// The time of the tests.
let now = Timestamp("2026-06-01T12:00:00Z")!

func day(_ text: String) -> Date {
  Date(timeIntervalSince1970: Double(Timestamp("\(text)T00:00:00Z")!.milliseconds) / 1000)
}

/// Returns what a test's own data makes; there is no test without it.
func made<Value>(_ body: () throws -> Value) -> Value {
  do { return try body() } catch { preconditionFailure("\(error)") }
}

/// A key with its certificate, which may sign others.
struct Issued {
  let certificate: Certificate
  let key: Certificate.PrivateKey

  var der: [UInt8] {
    var serializer = DER.Serializer()
    made { try serializer.serialize(certificate) }
    return serializer.serializedBytes
  }

  var pem: (chain: String, key: String) {
    made { (try certificate.serializeAsPEM().pemString, try key.serializeAsPEM().pemString) }
  }
}

/// The contents of a certificate to make. The defaults are those of a good one for example.net.
struct Draft {
  var subject = "example.net"
  var names: [GeneralName]? = [.dnsName("example.net")]
  var from = "2026-01-01"
  var until = "2026-12-31"
  var isAuthority = false
  /// The CA flag and the path length, if not that of `isAuthority`.
  var constraints: BasicConstraints?
  var hasConstraints = true
  var usages: [ExtendedKeyUsage.Usage]?
  var nameConstraints: NameConstraints?
  var more: [Certificate.Extension] = []
  var version = Certificate.Version.v3
  var algorithm = Certificate.SignatureAlgorithm.ecdsaWithSHA256

  static func authority(_ name: String) -> Draft { Draft(subject: name, names: nil, isAuthority: true) }

  func with(_ change: (inout Draft) -> Void) -> Draft {
    var copy = self
    change(&copy)
    return copy
  }

  /// Signs the certificate, by itself without an issuer.
  ///
  /// - Parameters:
  ///   - key: The key of the certificate; a new one for nil.
  ///   - name: The name that the certificate gives its issuer, if not the issuer's.
  func sign(by issuer: Issued? = nil, key: Certificate.PrivateKey? = nil, forging name: String? = nil) -> Issued {
    made { try signed(by: issuer, key: key, forging: name) }
  }

  private func signed(by issuer: Issued?, key: Certificate.PrivateKey?, forging name: String?) throws -> Issued {
    let key = key ?? Certificate.PrivateKey(P256.Signing.PrivateKey())
    var extensions = more
    if version == .v3 {
      if hasConstraints {
        let value =
          constraints ?? (isAuthority ? .isCertificateAuthority(maxPathLength: nil) : .notCertificateAuthority)
        extensions.append(try Certificate.Extension(value, critical: true))
      }
      if let names { extensions.append(try Certificate.Extension(SubjectAlternativeNames(names), critical: false)) }
      if let usages { extensions.append(try Certificate.Extension(ExtendedKeyUsage(usages), critical: false)) }
      if let nameConstraints { extensions.append(try Certificate.Extension(nameConstraints, critical: true)) }
    }
    let subjectName = try DistinguishedName { CommonName(subject) }
    let issuerName = try name.map { name in try DistinguishedName { CommonName(name) } }
    let certificate = try Certificate(
      version: version, serialNumber: Certificate.SerialNumber(), publicKey: key.publicKey,
      notValidBefore: day(from), notValidAfter: day(until),
      issuer: issuerName ?? issuer?.certificate.subject ?? subjectName, subject: subjectName,
      signatureAlgorithm: algorithm, extensions: Certificate.Extensions(extensions),
      issuerPrivateKey: issuer?.key ?? key)
    return Issued(certificate: certificate, key: key)
  }
}

/// otherNames of XMPP.
extension GeneralName {
  static func srvName(_ text: String) -> GeneralName {
    .otherName(
      OtherName(typeID: [1, 3, 6, 1, 5, 5, 7, 8, 7], value: made { try ASN1Any(erasing: ASN1IA5String(text)) }))
  }
  static func xmppAddr(_ text: String) -> GeneralName {
    .otherName(
      OtherName(typeID: [1, 3, 6, 1, 5, 5, 7, 8, 5], value: made { try ASN1Any(erasing: ASN1UTF8String(text)) }))
  }
}
