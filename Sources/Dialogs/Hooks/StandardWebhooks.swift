import Crypto

/// Signing as Standard Webhooks 1.0.0 has it ("Signature scheme", "Webhook headers").
public enum StandardWebhooks {
  /// 32 bytes: it wants 24 to 64.
  static func makeSecret() -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<32).map { _ in .random(in: .min ... .max, using: &generator) }
  }

  /// As it is shown to whoever verifies.
  public static func text(_ secret: [UInt8]) -> String { secretPrefix + ExternalServices.base64(secret) }
  private static let secretPrefix = "whsec_"

  /// The headers of one attempt. `id` has no full stop.
  public static func headers(
    id: String, now: Timestamp, body: [UInt8], secrets: [[UInt8]]
  ) -> [(name: String, value: String)] {
    let seconds = String(now.milliseconds / 1_000)
    let signed = Array("\(id).\(seconds).".utf8) + body
    let signatures = secrets.map { secret in
      let code = HMAC<SHA256>.authenticationCode(for: signed, using: SymmetricKey(data: secret))
      return "v1," + ExternalServices.base64(Array(code))
    }
    return [
      ("content-type", "application/json"), ("webhook-id", id), ("webhook-timestamp", seconds),
      ("webhook-signature", signatures.joined(separator: " ")),
    ]
  }
}
