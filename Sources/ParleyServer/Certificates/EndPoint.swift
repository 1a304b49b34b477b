import Crypto
import SwiftASN1
import X509

/// What `tls-server-end-point` is of a certificate (RFC 5929 4.1): its hash, by the hash function that its signature was made
/// with, at least SHA-256.
enum EndPoint {
  /// - Parameter certificate: DER, as it is shown.
  /// - Returns: nil where it is undefined: no hash is named by the signature's algorithm (Ed25519), or one that is not known here.
  static func binding(_ certificate: [UInt8]) -> [UInt8]? {
    guard let algorithm = (try? Certificate(derEncoded: certificate))?.signatureAlgorithm else { return nil }
    switch algorithm {
    case .sha256WithRSAEncryption, .ecdsaWithSHA256, .sha1WithRSAEncryption:
      return Array(SHA256.hash(data: certificate))
    case .sha384WithRSAEncryption, .ecdsaWithSHA384: return Array(SHA384.hash(data: certificate))
    case .sha512WithRSAEncryption, .ecdsaWithSHA512: return Array(SHA512.hash(data: certificate))
    default: return nil
    }
  }
}
