import Basics
import JSON

/// A file that is kept here, or that a message brings from elsewhere.
struct AttachmentBody: Hashable, Sendable, JSONObjectWritable {
  /// Absent where the file is kept elsewhere.
  var id: String?
  var name: String?
  var mediaType: String?
  /// Bytes.
  var size: Int64?
  /// 64 hex digits; of a slot only if it was asked for with them.
  var sha256: String?
  /// Pixels: of a picture of a known kind that is kept here as it is, else as whoever sent it says; milliseconds always as
  /// they say.
  var width: Int?
  var height: Int?
  var durationMs: Int?
  /// Whoever knows it may read it.
  var url: String
  /// `message` or `profile`; absent in messages.
  var purpose: String?
  /// From then on it is gone; absent: it is not known when.
  var expiresAt: Timestamp?
  /// Of a slot that was just given out: where the bytes go, once, with PUT; or in parts, with PATCH.
  var uploadUrl: String?
  /// Of such a slot: until when.
  var uploadUntil: Timestamp?
  /// Absent where there is none.
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
    writer.member("url", url)
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
  /// 64 hex digits: what the bytes must come to.
  var sha256: String?
  /// Whether the bytes may come in parts.
  var resumable: Bool?
}

/// A small picture of a file.
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
