import Basics
import JSON

/// A file on this server, or an external one of a message.
struct AttachmentBody: Hashable, Sendable, JSONObjectWritable {
  /// The id; absent for an external file.
  var id: String?
  var name: String?
  var mediaType: String?
  /// Bytes.
  var size: Int64?
  /// 64 hex digits; for a slot only if they were announced.
  var sha256: String?
  /// Pixels: measured for an image of a known kind on this server, otherwise as the sender announced; milliseconds
  /// always as announced.
  var width: Int?
  var height: Int?
  var durationMs: Int?
  /// The URL, which suffices for reading. It is empty, and not written, only where a backend is asked about a file that its
  /// sender cannot send.
  var url: String
  /// `message` or `profile`; absent in messages.
  var purpose: String?
  /// The time when it is removed; absent if unknown.
  var expiresAt: Timestamp?
  /// The upload URL of a new slot, for one PUT, or for parts by PATCH.
  var uploadUrl: String?
  /// The time until which the slot takes bytes.
  var uploadUntil: Timestamp?
  /// The thumbnail; absent if there is none.
  var thumbnail: ThumbnailBody?

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("id", id)
    writer.member("name", name)
    writer.member("mediaType", mediaType)
    writer.member("size", size)
    writer.member("sha256", sha256)
    writer.member("width", width)
    writer.member("height", height)
    writer.member("durationMs", durationMs)
    writer.member("url", url.isEmpty ? nil : url)
    writer.member("purpose", purpose)
    writer.member("expiresAt", expiresAt)
    writer.member("uploadUrl", uploadUrl)
    writer.member("uploadUntil", uploadUntil)
    writer.member("thumbnail", thumbnail)
  }
}

struct CreateAttachmentInput: Decodable, Hashable, Sendable {
  var name: String
  var mediaType: String
  /// Bytes.
  var size: Int
  var purpose: String?
  var width: Int?
  var height: Int?
  var durationMs: Int?
  /// The expected hash of the bytes in 64 hex digits.
  var sha256: String?
  /// Whether the bytes may come in parts.
  var resumable: Bool?
}

/// A small preview image of a file.
struct ThumbnailBody: Hashable, Sendable, JSONObjectWritable {
  var url: String
  var mediaType: String?
  /// Pixels.
  var width: Int?
  var height: Int?

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("url", url)
    writer.member("mediaType", mediaType)
    writer.member("width", width)
    writer.member("height", height)
  }
}

struct AttachmentInput: Decodable, Hashable, Sendable {
  var attachmentId: String
}
