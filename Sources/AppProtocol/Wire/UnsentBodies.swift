/// What the caller has begun to write in a dialog: their own, and the same in all their clients.
public struct DraftBody: Codable, Hashable, Sendable, JSONWritable {
  public var dialogId: String
  public var text: String
  /// The message to reply to.
  public var replyTo: String?
  public var updatedAt: WireTime

  public init(dialogId: String, text: String, replyTo: String?, updatedAt: WireTime) {
    self.dialogId = dialogId
    self.text = text
    self.replyTo = replyTo
    self.updatedAt = updatedAt
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("dialogId", dialogId)
    writer.member("text", text)
    writer.member("replyTo", replyTo)
    writer.member("updatedAt", updatedAt)
    writer.endObject()
  }
}

/// A message that the server will send for the caller.
public struct ScheduledMessageBody: Codable, Hashable, Sendable, JSONWritable {
  public enum State: String, Codable, Sendable, CaseIterable {
    case pending
    /// It could not be sent: set another time, or take it back.
    case failed
    case sent
    case cancelled
  }

  public var id: String
  public var dialogId: String
  /// The key of the message that it becomes.
  public var clientId: String
  public var sendAt: WireTime
  public var createdAt: WireTime
  /// A `State`.
  public var state: String
  public var content: ContentBody
  public var metadata: RawObject?
  public var replyTo: String?
  public var mentions: [MentionBody]?
  /// What it has become.
  public var messageId: String?
  /// Why it failed, as in a problem.
  public var code: String?
  public var detail: String?

  public init(
    id: String, dialogId: String, clientId: String, sendAt: WireTime, createdAt: WireTime, state: State,
    content: ContentBody, metadata: RawObject?, replyTo: String?, mentions: [MentionBody]?, messageId: String?,
    code: String?, detail: String?
  ) {
    self.id = id
    self.dialogId = dialogId
    self.clientId = clientId
    self.sendAt = sendAt
    self.createdAt = createdAt
    self.state = state.rawValue
    self.content = content
    self.metadata = metadata
    self.replyTo = replyTo
    self.mentions = mentions
    self.messageId = messageId
    self.code = code
    self.detail = detail
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
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
    writer.endObject()
  }
}

/// `draft.updated`, durable: the caller has begun to write something else, or nothing any more.
public struct DraftUpdatedBody: Codable, Hashable, Sendable, JSONWritable {
  public var dialogId: String
  /// Absent: there is none.
  public var draft: DraftBody?
  public init(dialogId: String, draft: DraftBody?) {
    self.dialogId = dialogId
    self.draft = draft
  }
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("dialogId", dialogId)
    writer.member("draft", draft)
    writer.endObject()
  }
}

/// `scheduled.updated`, durable: of a scheduled message of the caller's. What it says is in the list.
public struct ScheduledUpdatedBody: Codable, Hashable, Sendable, JSONWritable {
  public var scheduledMessageId: String
  public var dialogId: String
  public var sendAt: WireTime
  /// A `ScheduledMessageBody.State`.
  public var state: String
  /// What it has become.
  public var messageId: String?
  /// Why it failed, as in a problem.
  public var code: String?
  public var detail: String?

  public init(
    scheduledMessageId: String, dialogId: String, sendAt: WireTime, state: ScheduledMessageBody.State,
    messageId: String?, code: String?, detail: String?
  ) {
    self.scheduledMessageId = scheduledMessageId
    self.dialogId = dialogId
    self.sendAt = sendAt
    self.state = state.rawValue
    self.messageId = messageId
    self.code = code
    self.detail = detail
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("scheduledMessageId", scheduledMessageId)
    writer.member("dialogId", dialogId)
    writer.member("sendAt", sendAt)
    writer.member("state", state)
    writer.member("messageId", messageId)
    writer.member("code", code)
    writer.member("detail", detail)
    writer.endObject()
  }
}

public struct DraftInput: Codable, Hashable, Sendable {
  public var dialogId: String
  public init(dialogId: String) { self.dialogId = dialogId }
}

public struct PutDraftInput: Codable, Hashable, Sendable {
  public var dialogId: String
  public var text: String
  public var replyTo: String?
  public init(dialogId: String, text: String, replyTo: String? = nil) {
    self.dialogId = dialogId
    self.text = text
    self.replyTo = replyTo
  }
}

/// As `SendMessageInput`, and when.
public struct ScheduleMessageInput: Codable, Hashable, Sendable {
  public var dialogId: String
  public var clientId: String
  public var sendAt: WireTime
  public var content: ContentBody
  public var metadata: RawObject?
  public var replyTo: String?
  public var mentions: [MentionBody]?
  public init(
    dialogId: String, clientId: String, sendAt: WireTime, content: ContentBody, metadata: RawObject? = nil,
    replyTo: String? = nil, mentions: [MentionBody]? = nil
  ) {
    self.dialogId = dialogId
    self.clientId = clientId
    self.sendAt = sendAt
    self.content = content
    self.metadata = metadata
    self.replyTo = replyTo
    self.mentions = mentions
  }
}

/// What is absent stays as it is; of `content` and `metadata` one brings the other.
public struct UpdateScheduledMessageInput: Codable, Hashable, Sendable {
  public var scheduledMessageId: String
  public var sendAt: WireTime?
  public var content: ContentBody?
  public var metadata: RawObject?
  public init(
    scheduledMessageId: String, sendAt: WireTime? = nil, content: ContentBody? = nil, metadata: RawObject? = nil
  ) {
    self.scheduledMessageId = scheduledMessageId
    self.sendAt = sendAt
    self.content = content
    self.metadata = metadata
  }
}

public struct ScheduledMessageReference: Codable, Hashable, Sendable {
  public var scheduledMessageId: String
  public init(scheduledMessageId: String) { self.scheduledMessageId = scheduledMessageId }
}
