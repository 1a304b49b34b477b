import Basics
import JSON

/// A password for one third-party XMPP client, in the caller's list.
struct AppPasswordBody: Hashable, Sendable, JSONObjectWritable {
  var id: String
  var name: String
  /// The password, only in the answer that creates it.
  var password: String?
  var createdAt: Timestamp
  /// The time of the last use; absent if it was never used.
  var usedAt: Timestamp?

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("id", id)
    writer.member("name", name)
    writer.member("password", password)
    writer.member("createdAt", createdAt)
    writer.member("usedAt", usedAt)
  }
}
