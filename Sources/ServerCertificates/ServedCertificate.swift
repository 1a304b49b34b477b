public import Basics
import Glibc
import NIOSSL
public import ServerConfiguration
import SwiftASN1
import X509

/// A certificate that clients get now, for an operator.
public struct ServedCertificate: Hashable, Sendable {
  public enum Origin: String, Sendable {
    case acme, file
    case selfSigned = "self-signed"
  }

  /// The domains whose clients get it.
  public let domains: [String]
  /// The names in it.
  public let names: [String]
  public let issuer: String
  public let validFrom: Timestamp
  public let validUntil: Timestamp
  public let file: String
  public let origin: Origin

  init?(_ leaf: NIOSSLCertificate, domains: [String], file: String, origin: Origin) {
    guard let bytes = try? leaf.toDERBytes(), let certificate = try? Certificate(derEncoded: bytes) else { return nil }
    self.domains = domains
    names = (try? CertificateNames(of: certificate))?.shown ?? []
    issuer = certificate.issuer.text
    validFrom = certificate.validFrom
    validUntil = certificate.validUntil
    self.file = file
    self.origin = origin
  }
}

extension Settings.ACME {
  /// Returns the file of the issued certificate and its key in the folder of certificates; nil if there is none.
  public func certificate(in folder: String) -> Settings.CertificateFiles? {
    let path = IssuedCertificate.path(folder)
    return Files.exists(path) ? Settings.CertificateFiles(chain: path, key: path) : nil
  }

  /// Returns what `parley check` and the start say of a server whose domains its authority has not certified yet; nil
  /// if there is nothing to say.
  ///
  /// - Parameter folder: The folder of certificates.
  public func shortcoming(in folder: String) -> String? {
    guard let issued = IssuedCertificate.read(folder) else {
      // Others than the server's user may not look.
      if access(folder, F_OK) != 0, errno == EACCES { return nil }
      return
        "There is no certificate of \(directory) yet: clients get the self-signed one until it has come (parley "
        + "certificate show)."
    }
    let missing = names.filter { !issued.names.cover(host: $0) }
    if missing.isEmpty { return nil }
    return "The certificate of \(directory) does not name \(missing.joined(separator: ", ")) (parley certificate show)."
  }
}
