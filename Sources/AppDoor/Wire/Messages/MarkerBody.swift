import JSON

/// How far one member of a dialog has got: up-to marks, forward only.
struct MarkerBody: Hashable, Sendable, JSONObjectWritable {
  var dialogId: String
  var userId: String
  /// The last message known to have reached a device of the user.
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
