import Basics
import JSON

/// One version of a message's content.
struct EditBody: Hashable, Sendable, JSONObjectWritable {
  var text: String
  /// The time of this version.
  var at: Timestamp
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("text", text)
    writer.member("at", at)
  }
}

/// Whether a message has reached one member.
struct ReceiptBody: Hashable, Sendable, JSONObjectWritable {
  var userId: String
  var delivered: Bool
  var read: Bool
  /// The time of delivery; known only if the member's last marker is for this message.
  var deliveredAt: Timestamp?
  var readAt: Timestamp?
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("userId", userId)
    writer.member("delivered", delivered)
    writer.member("read", read)
    writer.member("deliveredAt", deliveredAt)
    writer.member("readAt", readAt)
  }
}

struct MessagePartsInput: Decodable, Hashable, Sendable {
  var dialogId: String
  var messageId: String
  var cursor: String?
  var limit: Int?
}
