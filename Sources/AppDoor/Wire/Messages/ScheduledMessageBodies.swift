import Basics
import JSON

/// A message that the server will send for the caller.
struct ScheduledMessageBody: Hashable, Sendable, JSONObjectWritable {
  enum State: String, Sendable, CaseIterable {
    case pending
    /// It could not be sent: set another time, or cancel it.
    case failed
    case sent
    case cancelled
  }

  var id: String
  var dialogId: String
  /// The `clientId` of the message that it becomes.
  var clientId: String
  var sendAt: Timestamp
  var createdAt: Timestamp
  var state: State
  var content: ContentBody
  var metadata: RawObject?
  var replyTo: String?
  var mentions: [MentionBody]?
  /// The message that it became.
  var messageId: String?
  /// The reason of the failure, as in a problem.
  var code: String?
  var detail: String?

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("id", id)
    writer.member("dialogId", dialogId)
    writer.member("clientId", clientId)
    writer.member("sendAt", sendAt)
    writer.member("createdAt", createdAt)
    writer.member("state", state)
    writer.member("content", content)
    writer.member("metadata", metadata)
    writer.member("replyTo", replyTo)
    writer.member("mentions", mentions)
    writer.member("messageId", messageId)
    writer.member("code", code)
    writer.member("detail", detail)
  }
}

/// `scheduled.updated`, durable: a scheduled message of the caller's changed. The list has its content.
struct ScheduledUpdatedBody: Hashable, Sendable, JSONObjectWritable {
  var scheduledMessageId: String
  var dialogId: String
  var sendAt: Timestamp
  var state: ScheduledMessageBody.State
  /// The message that it became.
  var messageId: String?
  /// The reason of the failure, as in a problem.
  var code: String?
  var detail: String?

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("scheduledMessageId", scheduledMessageId)
    writer.member("dialogId", dialogId)
    writer.member("sendAt", sendAt)
    writer.member("state", state)
    writer.member("messageId", messageId)
    writer.member("code", code)
    writer.member("detail", detail)
  }
}

/// A message as in `SendMessageInput`, with its time.
struct ScheduleMessageInput: Decodable, Hashable, Sendable {
  var dialogId: String
  var clientId: String
  var sendAt: Timestamp
  var content: ContentBody
  var metadata: RawObject?
  var replyTo: String?
  var mentions: [MentionBody]?
}

/// A change of a scheduled message; absent members are unchanged, but of `content` and `metadata` one requires the
/// other.
struct UpdateScheduledMessageInput: Decodable, Hashable, Sendable {
  var scheduledMessageId: String
  var sendAt: Timestamp?
  var content: ContentBody?
  var metadata: RawObject?
}

struct ScheduledMessageReference: Decodable, Hashable, Sendable {
  var scheduledMessageId: String
}
