/// That the caller's place is shared, and until when. Where it is is not told back: it is known only coarsely.
public struct LocationBody: Codable, Hashable, Sendable, JSONWritable {
  public var expiresAt: WireTime

  public init(expiresAt: WireTime) { self.expiresAt = expiresAt }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("expiresAt", expiresAt)
    writer.endObject()
  }
}
