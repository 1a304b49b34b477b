/// A file that is kept here, or that a message brings from elsewhere.
public struct AttachmentBody: Codable, Hashable, Sendable, JSONWritable {
  /// Absent where the file is kept elsewhere.
  public var id: String?
  public var name: String?
  public var mediaType: String?
  /// Bytes.
  public var size: Int64?
  /// 64 hex digits; of a slot only if it was asked for with them.
  public var sha256: String?
  /// Pixels: of a picture of a known kind that is kept here as it is, else as whoever sent it says; milliseconds always as
  /// they say.
  public var width: Int?
  public var height: Int?
  public var durationMs: Int?
  /// Whoever knows it may read it.
  public var url: String
  /// `message` or `profile`; absent in messages.
  public var purpose: String?
  /// From then on it is gone; absent: it is not known when.
  public var expiresAt: WireTime?
  /// Of a slot that was just given out: where the bytes go, once, with PUT; or in parts, with PATCH.
  public var uploadUrl: String?
  /// Of such a slot: until when.
  public var uploadUntil: WireTime?
  /// Absent where there is none.
  public var thumbnail: ThumbnailBody?

  public init(
    id: String? = nil, name: String? = nil, mediaType: String? = nil, size: Int64? = nil, sha256: String? = nil,
    width: Int? = nil, height: Int? = nil, durationMs: Int? = nil, url: String, purpose: String? = nil,
    expiresAt: WireTime? = nil, uploadUrl: String? = nil, uploadUntil: WireTime? = nil,
    thumbnail: ThumbnailBody? = nil
  ) {
    self.id = id
    self.name = name
    self.mediaType = mediaType
    self.size = size
    self.sha256 = sha256
    self.width = width
    self.height = height
    self.durationMs = durationMs
    self.url = url
    self.purpose = purpose
    self.expiresAt = expiresAt
    self.uploadUrl = uploadUrl
    self.uploadUntil = uploadUntil
    self.thumbnail = thumbnail
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
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
    writer.endObject()
  }
}

public struct CreateAttachmentInput: Codable, Hashable, Sendable {
  public var name: String
  public var mediaType: String
  /// Bytes.
  public var size: Int
  public var purpose: String?
  public var width: Int?
  public var height: Int?
  public var durationMs: Int?
  /// 64 hex digits: what the bytes must come to.
  public var sha256: String?
  /// Whether the bytes may come in parts.
  public var resumable: Bool?
  public init(
    name: String, mediaType: String, size: Int, purpose: String? = nil, width: Int? = nil, height: Int? = nil,
    durationMs: Int? = nil, sha256: String? = nil, resumable: Bool? = nil
  ) {
    self.name = name
    self.mediaType = mediaType
    self.size = size
    self.purpose = purpose
    self.width = width
    self.height = height
    self.durationMs = durationMs
    self.sha256 = sha256
    self.resumable = resumable
  }
}

/// A small picture of a file.
public struct ThumbnailBody: Codable, Hashable, Sendable, JSONWritable {
  public var url: String
  public var mediaType: String?
  /// Pixels.
  public var width: Int?
  public var height: Int?

  public init(url: String, mediaType: String? = nil, width: Int? = nil, height: Int? = nil) {
    self.url = url
    self.mediaType = mediaType
    self.width = width
    self.height = height
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("url", url)
    writer.member("mediaType", mediaType)
    writer.member("width", width)
    writer.member("height", height)
    writer.endObject()
  }
}

public struct AttachmentInput: Codable, Hashable, Sendable {
  public var attachmentId: String
  public init(attachmentId: String) { self.attachmentId = attachmentId }
}
