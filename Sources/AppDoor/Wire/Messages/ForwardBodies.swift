import Basics
import JSON

/// A message to say again.
struct ForwardFromBody: Decodable, Hashable, Sendable {
  var dialogId: String
  var messageId: String
}

/// Where a message was said first, as the server has found it.
struct ForwardedFromBody: Hashable, Sendable, JSONObjectWritable {
  /// Absent where readers here need not know.
  var senderId: String?
  var sentAt: Timestamp
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("senderId", senderId)
    writer.member("sentAt", sentAt)
  }
}
