import JSON

/// The marks of one member of a dialog, which only move forward.
struct MarkerBody: Hashable, Sendable, JSONObjectWritable {
  var dialogId: String
  var userId: String
  /// The last message that has reached a device of the user.
  var delivered: String?
  /// The last message that the user has read.
  var read: String?

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("dialogId", dialogId)
    writer.member("userId", userId)
    writer.member("delivered", delivered)
    writer.member("read", read)
  }
}
