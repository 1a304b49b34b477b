/// `GET /healthz`: the server is able to do its work.
public struct HealthBody: Codable, Hashable, Sendable, JSONWritable {
  public var status: String
  public init() { status = "ok" }
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("status", status)
    writer.endObject()
  }
}
