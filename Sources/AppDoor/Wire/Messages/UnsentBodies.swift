import Basics
import JSON

/// What the caller has begun to write in a dialog: their own, and the same in all their clients.
struct DraftBody: Hashable, Sendable, JSONObjectWritable {
  var dialogId: String
  var text: String
  /// The message to reply to.
  var replyTo: String?
  var updatedAt: Timestamp

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("dialogId", dialogId)
    writer.member("text", text)
    writer.member("replyTo", replyTo)
    writer.member("updatedAt", updatedAt)
  }
}

/// A message that the server will send for the caller.
struct ScheduledMessageBody: Hashable, Sendable, JSONObjectWritable {
  enum State: String, Sendable, CaseIterable {
    case pending
    /// It could not be sent: set another time, or take it back.
    case failed
    case sent
    case cancelled
  }

  var id: String
  var dialogId: String
  /// The key of the message that it becomes.
  var clientId: String
  var sendAt: Timestamp
  var createdAt: Timestamp
  /// A `State`.
  var state: State
  var content: ContentBody
  var metadata: RawObject?
  var replyTo: String?
  var mentions: [MentionBody]?
  /// What it has become.
  var messageId: String?
  /// Why it failed, as in a problem.
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

/// `draft.updated`, durable: the caller has begun to write something else, or nothing any more.
struct DraftUpdatedBody: Hashable, Sendable, JSONObjectWritable {
  var dialogId: String
  /// Absent: there is none.
  var draft: DraftBody?
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("dialogId", dialogId)
    writer.member("draft", draft)
  }
}

/// `scheduled.updated`, durable: of a scheduled message of the caller's. What it says is in the list.
struct ScheduledUpdatedBody: Hashable, Sendable, JSONObjectWritable {
  var scheduledMessageId: String
  var dialogId: String
  var sendAt: Timestamp
  /// A `ScheduledMessageBody.State`.
  var state: ScheduledMessageBody.State
  /// What it has become.
  var messageId: String?
  /// Why it failed, as in a problem.
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

struct DraftInput: Decodable, Hashable, Sendable {
  var dialogId: String
}

struct PutDraftInput: Decodable, Hashable, Sendable {
  var dialogId: String
  var text: String
  var replyTo: String?
}

/// As `SendMessageInput`, and when.
struct ScheduleMessageInput: Decodable, Hashable, Sendable {
  var dialogId: String
  var clientId: String
  var sendAt: Timestamp
  var content: ContentBody
  var metadata: RawObject?
  var replyTo: String?
  var mentions: [MentionBody]?
}

/// What is absent stays as it is; of `content` and `metadata` one brings the other.
struct UpdateScheduledMessageInput: Decodable, Hashable, Sendable {
  var scheduledMessageId: String
  var sendAt: Timestamp?
  var content: ContentBody?
  var metadata: RawObject?
}

struct ScheduledMessageReference: Decodable, Hashable, Sendable {
  var scheduledMessageId: String
}
