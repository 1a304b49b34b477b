/// One line of the caller's block list (XEP-0191).
public struct BlockBody: Codable, Hashable, Sendable, JSONWritable {
  /// The blocked user of this domain; absent where an XMPP client blocked
  /// something else: a domain, one resource, a foreign address.
  public var userId: String?
  public var jid: String

  public init(userId: String?, jid: String) {
    self.userId = userId
    self.jid = jid
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("userId", userId)
    writer.member("jid", jid)
    writer.endObject()
  }
}
