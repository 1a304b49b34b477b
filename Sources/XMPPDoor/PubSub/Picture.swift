import Basics
import Dialogs
import XMPP

/// A picture in Base64, as it stands in a vCard, in a `data:` URL, in an item.
enum Picture {
  case bytes([UInt8])
  case malformed
  case tooLarge

  /// Decodes a picture; white space is ignored (XEP-0153 4.6, XEP-0084 4.1).
  static func decode(_ text: some Sequence<UInt8>) -> Picture {
    let characters = text.filter { $0 != 0x20 && $0 != 0x0A && $0 != 0x0D && $0 != 0x09 }
    // Four characters are three bytes: refuse a picture that is too large before decoding it.
    if characters.count / 4 * 3 > Limits.avatarBytesMax + 2 { return .tooLarge }
    guard let bytes = Base64.decode(characters) else { return .malformed }
    return bytes.count > Limits.avatarBytesMax ? .tooLarge : .bytes(bytes)
  }

  /// Decodes a picture in the payload of an item.
  static func published(_ text: some Sequence<UInt8>) throws(StanzaError) -> [UInt8] {
    switch decode(text) {
    case .tooLarge:
      throw StanzaError(
        .notAcceptable, pubsub: "payload-too-big", "a picture has at most \(Limits.avatarBytesMax) bytes")
    case .malformed: throw StanzaError(.badRequest, pubsub: "invalid-payload", "the picture is no base 64")
    case .bytes(let bytes): return bytes
    }
  }
}
