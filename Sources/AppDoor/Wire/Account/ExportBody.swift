import Basics
import JSON

/// An archive of all that is the caller's: being made, or made.
struct ExportBody: Hashable, Sendable, JSONObjectWritable {
  var id: String
  /// `pending`, `done` or `failed`.
  var status: String
  var createdAt: Timestamp
  var finishedAt: Timestamp?
  /// Of one that is done: where it is fetched, without a token, by whoever knows it.
  var url: String?
  /// When it goes.
  var expiresAt: Timestamp?
  /// Bytes.
  var size: Int64?

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("id", id)
    writer.member("status", status)
    writer.member("createdAt", createdAt)
    writer.member("finishedAt", finishedAt)
    writer.member("url", url)
    writer.member("expiresAt", expiresAt)
    writer.member("size", size)
  }
}
