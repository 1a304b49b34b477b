import Basics
import Crypto

/// A user's or a room's avatar, at most `Limits.avatarBytesMax`.
public struct Avatar: Hashable, Sendable {
  /// The SHA-1 in lower-case hex (XEP-0153 3.1).
  public let hash: String
  public let mediaType: String
  public let bytes: [UInt8]

  public init(hash: String, mediaType: String, bytes: [UInt8]) {
    self.hash = hash
    self.mediaType = mediaType
    self.bytes = bytes
  }

  /// Creates an avatar, whose type is detected from the bytes: a client's declaration must not be trusted (XEP-0153 5),
  /// least of all by a browser.
  public init(_ bytes: [UInt8]) {
    self.init(hash: Self.hash(bytes), mediaType: Self.imageType(bytes) ?? Self.unknownType, bytes: bytes)
  }

  /// The type of bytes that are no known kind of image; XMPP clients may have set them.
  public static let unknownType = "application/octet-stream"

  public var isKnown: Bool { mediaType != Self.unknownType }

  static func hash(_ bytes: [UInt8]) -> String { Hex.string(Insecure.SHA1.hash(data: bytes)) }

  /// The types that `imageType` detects.
  static let imageTypes: Set<String> = ["image/png", "image/jpeg", "image/gif", "image/webp"]

  /// Returns the type; `nil` if it is none of the four kinds of image that all browsers and clients show.
  static func imageType(_ bytes: [UInt8]) -> String? {
    if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return "image/png" }
    if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
    if bytes.starts(with: Array("GIF87a".utf8)) || bytes.starts(with: Array("GIF89a".utf8)) { return "image/gif" }
    if bytes.starts(with: Array("RIFF".utf8)), bytes.dropFirst(8).starts(with: Array("WEBP".utf8)) {
      return "image/webp"
    }
    return nil
  }
}

extension StoreReader {
  /// Returns the user's avatar; `nil` if there is none.
  public func avatar(of user: User) throws -> Avatar? {
    guard let hash = user.profile.avatarHash else { return nil }
    return try avatar(hash) { try value(of: user.id, node: ValueKey.avatar, item: $0) }
  }

  /// Returns the room's avatar; `nil` if there is none.
  public func avatar(of room: Room) throws -> Avatar? {
    guard let hash = room.settings.avatarHash else { return nil }
    return try avatar(hash) { try value(of: room.id, node: ValueKey.avatar, item: $0) }
  }

  private func avatar(_ hash: String, _ stored: (String) throws -> [UInt8]?) throws -> Avatar? {
    guard let bytes = try stored(ValueKey.bytes) else { return nil }
    let type = try stored(ValueKey.mediaType).map { String(decoding: $0, as: UTF8.self) }
    return Avatar(hash: hash, mediaType: type ?? Avatar.unknownType, bytes: bytes)
  }
}
