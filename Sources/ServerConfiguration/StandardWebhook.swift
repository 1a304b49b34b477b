package import Basics
import Dialogs

/// A configured secret that signs requests according to Standard Webhooks 1.0.0.
package struct StandardWebhook: Hashable, Sendable {
  package let key: [UInt8]

  /// Parses a secret.
  ///
  /// - Parameter secret: `whsec_` and the key in base 64; the result is nil for another form or for a key outside the
  ///   specification's 24 to 64 bytes.
  package init?(secret: String) {
    guard let key = StandardWebhooks.secret(secret) else { return nil }
    self.key = key
  }

  /// Returns the headers of a signed request.
  ///
  /// - Parameter id: The delivery's id, the same in a retry.
  package func headers(id: String, now: Timestamp, body: [UInt8]) -> [(name: String, value: String)] {
    StandardWebhooks.headers(id: id, now: now, body: body, secrets: [key])
  }
}
