/// A password for one third-party XMPP client, in the list of one's own.
public struct AppPasswordBody: Codable, Hashable, Sendable, JSONWritable {
  public var id: String
  public var name: String
  /// Only in the answer that makes it.
  public var password: String?
  public var createdAt: WireTime
  /// Absent: never.
  public var usedAt: WireTime?

  public init(id: String, name: String, password: String? = nil, createdAt: WireTime, usedAt: WireTime? = nil) {
    self.id = id
    self.name = name
    self.password = password
    self.createdAt = createdAt
    self.usedAt = usedAt
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("id", id)
    writer.member("name", name)
    writer.member("password", password)
    writer.member("createdAt", createdAt)
    writer.member("usedAt", usedAt)
    writer.endObject()
  }
}
