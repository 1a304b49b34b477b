import JSON

/// An item of the caller's block list (XEP-0191).
struct BlockBody: Hashable, Sendable, JSONObjectWritable {
  /// The blocked user of this domain; absent if an XMPP client blocked something else: a domain, one resource, a
  /// foreign address.
  var userId: String?
  var jid: String

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("userId", userId)
    writer.member("jid", jid)
  }
}
