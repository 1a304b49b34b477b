import Basics
import Crypto

/// A token of 256 bits as text, with its stored hash.
package struct Token: Sendable {
  package let text: String
  package let hash: [UInt8]

  package init(_ bytes: [UInt8]) {
    text = Base64URL.string(bytes)
    hash = Self.hash(text)
  }

  package static func make() -> Token { Token([UInt8].random(count: 32)) }

  package static func hash(_ text: String) -> [UInt8] { hash(Array(text.utf8)) }
  package static func hash(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }
}
