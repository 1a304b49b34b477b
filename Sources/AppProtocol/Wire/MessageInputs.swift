public struct HistoryInput: Codable, Hashable, Sendable {
  public var dialogId: String
  /// A message's id or a `nextCursor`: older messages than that one.
  public var before: String?
  /// The same for newer ones; not together with `before`.
  public var after: String?
  public var limit: Int?
  public init(dialogId: String, before: String? = nil, after: String? = nil, limit: Int? = nil) {
    self.dialogId = dialogId
    self.before = before
    self.after = after
    self.limit = limit
  }
}

public struct SendMessageInput: Codable, Hashable, Sendable {
  public var dialogId: String
  /// Names the message for its sender: a repeat with the same content is
  /// answered with the first result, with other content refused.
  public var clientId: String
  /// Absent where something is forwarded.
  public var content: ContentBody?
  public var metadata: RawObject?
  /// The id of the message that this one answers.
  public var replyTo: String?
  /// Members who are named in the text.
  public var mentions: [MentionBody]?
  /// What to say again, in place of `content`.
  public var forwardFrom: ForwardFromBody?
  /// Has no place here: `POST /v1/dialogs/{dialogId}/scheduled-messages` sends later, and nobody's message for tomorrow is to
  /// be sent today.
  public var sendAt: WireTime?
  public init(
    dialogId: String, clientId: String, content: ContentBody? = nil, metadata: RawObject? = nil,
    replyTo: String? = nil, mentions: [MentionBody]? = nil, forwardFrom: ForwardFromBody? = nil
  ) {
    self.forwardFrom = forwardFrom
    self.dialogId = dialogId
    self.clientId = clientId
    self.content = content
    self.metadata = metadata
    self.replyTo = replyTo
    self.mentions = mentions
  }
}

extension SendMessageInput: DirectInput {
  public init(_ members: InputMembers) throws {
    dialogId = try members.text("dialogId")
    clientId = try members.text("clientId")
    content = try members.inputIfPresent("content")
    metadata = try members.ifPresent("metadata")
    replyTo = try members.textIfPresent("replyTo")
    mentions = try members.ifPresent("mentions")
    forwardFrom = try members.ifPresent("forwardFrom")
    sendAt = try members.ifPresent("sendAt")
  }
}

public struct EditMessageInput: Codable, Hashable, Sendable {
  public var dialogId: String
  public var messageId: String
  /// What it says from now on; the same as `content` of type `text`.
  public var text: String?
  public var content: ContentBody?
  /// Members who are named in the new text; absent: nobody, whoever was in the old one.
  public var mentions: [MentionBody]?
  /// Names the edit, as that of `SendMessageInput` names a message.
  public var clientId: String?
  public init(
    dialogId: String, messageId: String, text: String? = nil, content: ContentBody? = nil,
    mentions: [MentionBody]? = nil, clientId: String? = nil
  ) {
    self.dialogId = dialogId
    self.messageId = messageId
    self.text = text
    self.content = content
    self.mentions = mentions
    self.clientId = clientId
  }
}

public struct DeleteMessageInput: Codable, Hashable, Sendable {
  public var dialogId: String
  public var messageId: String
  /// `everyone`: nobody has it any more; `me`: the caller has not.
  public var whom: String
  /// For those who had it.
  public var reason: String?
  public init(dialogId: String, messageId: String, whom: String, reason: String? = nil) {
    self.dialogId = dialogId
    self.messageId = messageId
    self.whom = whom
    self.reason = reason
  }
  private enum CodingKeys: String, CodingKey {
    case dialogId, messageId, reason
    case whom = "for"
  }
}

public struct SetReactionsInput: Codable, Hashable, Sendable {
  public var dialogId: String
  public var messageId: String
  /// All of the caller's; none takes them back.
  public var emoji: [String]
  public init(dialogId: String, messageId: String, emoji: [String]) {
    self.dialogId = dialogId
    self.messageId = messageId
    self.emoji = emoji
  }
}

public struct SetMarkerInput: Codable, Hashable, Sendable {
  public var dialogId: String
  /// A message's id.
  public var delivered: String?
  /// A message's id; what was read has been delivered.
  public var read: String?
  /// The other side is not told.
  public var isPrivate: Bool?
  public init(dialogId: String, delivered: String? = nil, read: String? = nil, isPrivate: Bool? = nil) {
    self.dialogId = dialogId
    self.delivered = delivered
    self.read = read
    self.isPrivate = isPrivate
  }
  private enum CodingKeys: String, CodingKey {
    case dialogId, delivered, read
    case isPrivate = "private"
  }
}

extension SetMarkerInput: DirectInput {
  public init(_ members: InputMembers) throws {
    dialogId = try members.text("dialogId")
    delivered = try members.textIfPresent("delivered")
    read = try members.textIfPresent("read")
    isPrivate = try members.ifPresent("private")
  }
}
