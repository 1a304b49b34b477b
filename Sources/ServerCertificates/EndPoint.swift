import Crypto
import SwiftASN1
import X509

/// The channel binding `tls-server-end-point` (RFC 5929 4.1): the certificate's hash by the hash function of its
/// signature, at least SHA-256.
enum EndPoint {
  /// Returns the binding.
  ///
  /// - Parameter certificate: The certificate in DER.
  /// - Returns: nil if it is undefined: the signature's algorithm names no hash (Ed25519) or an unknown one.
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
