import Basics
import JSON

/// A password for one third-party XMPP client, in the list of one's own.
struct AppPasswordBody: Hashable, Sendable, JSONObjectWritable {
  var id: String
  var name: String
  /// Only in the answer that makes it.
  var password: String?
  var createdAt: Timestamp
  /// Absent: never.
  var usedAt: Timestamp?

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("id", id)
    writer.member("name", name)
    writer.member("password", password)
    writer.member("createdAt", createdAt)
    writer.member("usedAt", usedAt)
  }
}
