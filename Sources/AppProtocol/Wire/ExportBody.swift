/// An archive of all that is the caller's: being made, or made.
public struct ExportBody: Codable, Hashable, Sendable, JSONWritable {
  public var id: String
  /// `pending`, `done` or `failed`.
  public var status: String
  public var createdAt: WireTime
  public var finishedAt: WireTime?
  /// Of one that is done: where it is fetched, without a token, by whoever knows it.
  public var url: String?
  /// When it goes.
  public var expiresAt: WireTime?
  /// Bytes.
  public var size: Int64?

  public init(
    id: String, status: String, createdAt: WireTime, finishedAt: WireTime? = nil, url: String? = nil,
    expiresAt: WireTime? = nil, size: Int64? = nil
  ) {
    self.id = id
    self.status = status
    self.createdAt = createdAt
    self.finishedAt = finishedAt
    self.url = url
    self.expiresAt = expiresAt
    self.size = size
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("id", id)
    writer.member("status", status)
    writer.member("createdAt", createdAt)
    writer.member("finishedAt", finishedAt)
    writer.member("url", url)
    writer.member("expiresAt", expiresAt)
    writer.member("size", size)
    writer.endObject()
  }
}
