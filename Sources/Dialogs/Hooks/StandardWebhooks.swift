public import Basics
import Crypto

/// Signs requests as in Standard Webhooks 1.0.0 ("Signature scheme", "Webhook headers").
public enum StandardWebhooks {
  /// Returns a secret of 32 bytes: the standard requires 24 to 64.
  static func makeSecret() -> [UInt8] { .random(count: 32) }

  /// Returns a secret in the form for the receiver.
  public static func text(_ secret: [UInt8]) -> String { secretPrefix + Base64.string(secret) }

  /// Returns the key of a secret as `text` writes it; nil for other texts, and for keys of less than 24 or more than 64 bytes,
  /// which the specification forbids.
  public static func secret(_ text: String) -> [UInt8]? {
    guard text.hasPrefix(secretPrefix),
      let key = Base64.decode(text.utf8.dropFirst(secretPrefix.utf8.count), canonical: false),
      (24...64).contains(key.count)
    else { return nil }
    return key
  }

  private static let secretPrefix = "whsec_"

  /// Returns the headers of one attempt. `id` has no full stop.
  public static func headers(
    id: String, now: Timestamp, body: [UInt8], secrets: [[UInt8]]
  ) -> [(name: String, value: String)] {
    let seconds = String(now.milliseconds / 1_000)
    let signed = Array("\(id).\(seconds).".utf8) + body
    let signatures = secrets.map { secret in
      let code = HMAC<SHA256>.authenticationCode(for: signed, using: SymmetricKey(data: secret))
      return "v1," + Base64.string(code)
    }
    return [
      ("content-type", "application/json"), ("webhook-id", id), ("webhook-timestamp", seconds),
      ("webhook-signature", signatures.joined(separator: " ")),
    ]
  }
}
