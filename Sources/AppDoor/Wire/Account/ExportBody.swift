import Basics
import JSON

/// An archive of the caller's data, in progress or finished.
struct ExportBody: Hashable, Sendable, JSONObjectWritable {
  var id: String
  /// The state, `pending`, `done` or `failed`.
  var status: String
  var createdAt: Timestamp
  var finishedAt: Timestamp?
  /// The URL of a finished one, which needs no token.
  var url: String?
  /// The time when it is removed.
  var expiresAt: Timestamp?
  /// Bytes.
  var size: Int64?
  /// Whether some messages of others are left out.
  var incomplete: Bool?

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("id", id)
    writer.member("status", status)
    writer.member("createdAt", createdAt)
    writer.member("finishedAt", finishedAt)
    writer.member("url", url)
    writer.member("expiresAt", expiresAt)
    writer.member("size", size)
    writer.member("incomplete", incomplete)
  }
}
