public import Basics
import Crypto

/// A signer of requests as in Standard Webhooks 1.0.0 ("Signature scheme", "Webhook headers").
public struct WebhookSigner: Hashable, Sendable {
  private static let prefix = "whsec_"

  private let keys: [[UInt8]]

  /// Creates a signer; each key makes a signature of its own, so that the receiver may know any of them.
  public init(keys: [[UInt8]]) { self.keys = keys }

  /// Creates a signer from a configured secret: `whsec_` and the key in base 64. `nil` for another form, and for a key
  /// outside the specification's 24 to 64 bytes.
  public init?(secret: String) {
    guard secret.hasPrefix(Self.prefix),
      let key = Base64.decode(secret.utf8.dropFirst(Self.prefix.utf8.count), canonical: false),
      (24...64).contains(key.count)
    else { return nil }
    keys = [key]
  }

  /// Returns a new key of 32 bytes: the specification requires 24 to 64.
  public static func makeKey() -> [UInt8] { .random(count: 32) }

  /// Returns a key as the secret that its receiver configures.
  public static func secret(_ key: [UInt8]) -> String { prefix + Base64.string(key) }

  /// Returns the headers of a signed request.
  ///
  /// - Parameter id: the delivery's id, which has no full stop, and is the same in a retry.
  public func headers(id: String, now: Timestamp, body: [UInt8]) -> [(name: String, value: String)] {
    let seconds = String(now.milliseconds / 1_000)
    let signed = Array("\(id).\(seconds).".utf8) + body
    let signatures = keys.map { key in
      "v1," + Base64.string(HMAC<SHA256>.authenticationCode(for: signed, using: SymmetricKey(data: key)))
    }
    return [
      ("content-type", "application/json"), ("webhook-id", id), ("webhook-timestamp", seconds),
      ("webhook-signature", signatures.joined(separator: " ")),
    ]
  }
}
