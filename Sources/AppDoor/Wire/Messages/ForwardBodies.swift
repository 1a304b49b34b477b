import Basics
import JSON

/// A message to forward.
struct ForwardFromBody: Decodable, Hashable, Sendable {
  var dialogId: String
  var messageId: String
}

/// The origin of a forwarded message, as the server has found it.
struct ForwardedFromBody: Hashable, Sendable, JSONObjectWritable {
  /// The original sender; absent if the readers may not know.
  var senderId: String?
  var sentAt: Timestamp
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("senderId", senderId)
    writer.member("sentAt", sentAt)
  }
}
