import Basics
import ServerConfiguration
import SwiftASN1
import X509

/// The certificate authorities that are trusted for other servers.
struct Authorities: Equatable, Sendable {
  private let byName: [DistinguishedName: [Certificate]]

  init(_ certificates: [Certificate]) {
    byName = Dictionary(grouping: certificates, by: \.subject)
  }

  init(joining parts: [Authorities]) { self.init(parts.flatMap { $0.byName.values.joined() }) }

  var count: Int { byName.values.reduce(0) { $0 + $1.count } }

  func named(_ subject: DistinguishedName) -> [Certificate] { byName[subject] ?? [] }

  /// The files of the system's authorities, of which the first that exists is read: Debian's, Fedora's, Alpine's.
  private static let systemFiles = [
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem",
  ]

  /// Reads a PEM file of authorities, the system's for `nil`. Certificates with keys that are not supported are left
  /// out, as long as there are others.
  static func read(_ path: String?) throws(StartupError) -> Authorities {
    guard let path = path ?? systemFiles.first(where: Files.exists) else {
      throw StartupError("the system has no certificate authorities; federation.authorities can name a file of them")
    }
    let bytes: [UInt8]
    do { bytes = try Files.read(path, bytesMax: CertificateLimits.fileBytesMax) } catch {
      throw StartupError("the certificate authorities \(path) cannot be read: \(error.reasonWithRemedy)")
    }
    let documents = (try? PEMDocument.parseMultiple(pemString: String(decoding: bytes, as: UTF8.self))) ?? []
    let certificates = documents.compactMap { document in
      document.discriminator == "CERTIFICATE" ? try? Certificate(derEncoded: document.derBytes) : nil
    }
    if certificates.isEmpty { throw StartupError("the file \(path) holds no certificate authorities as PEM") }
    return Authorities(certificates)
  }
}
