import Crypto
import FoundationEssentials

/// The signature of a webhook as Standard Webhooks 1.0.0 has it: HMAC-SHA-256 of id, time and body.
struct StandardWebhook: Hashable, Sendable {
  private let key: [UInt8]

  /// - Parameter secret: `whsec_` and the key in base 64. nil: it is none, or shorter than 24 bytes or longer than 64, which
  ///   the specification asks for.
  init?(secret: String) {
    let prefix = "whsec_"
    guard secret.hasPrefix(prefix), let key = Data(base64Encoded: String(secret.dropFirst(prefix.count))),
      (24...64).contains(key.count)
    else { return nil }
    self.key = Array(key)
  }

  /// The three header fields.
  ///
  /// - Parameters:
  ///   - id: the same when it is sent again.
  ///   - seconds: since 1970.
  func headers(id: String, seconds: Int64, body: [UInt8]) -> [(name: String, value: String)] {
    let signed = Array("\(id).\(seconds).".utf8) + body
    let code = HMAC<SHA256>.authenticationCode(for: signed, using: SymmetricKey(data: key))
    return [
      ("webhook-id", id), ("webhook-timestamp", "\(seconds)"),
      ("webhook-signature", "v1," + Data(code).base64EncodedString()),
    ]
  }
}
