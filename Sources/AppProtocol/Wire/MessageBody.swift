/// A message as it is now, the same for every viewer but for the ids of people in a
/// dialog that hides who they are.
public struct MessageBody: Codable, Hashable, Sendable, JSONWritable {
  /// XEP-0359's stanza-id and XEP-0313's archive id of the same message.
  public var id: String
  /// Dense within the dialog, from 1.
  public var seq: Int64
  public var dialogId: String
  /// Where the dialog does not show the caller who its people are: an id that the sender
  /// has in this dialog only.
  public var senderId: String
  /// What the sender was called in the group or public dialog.
  public var senderNick: String?
  /// What the sender's app called it; absent for messages of XMPP clients.
  public var clientId: String?
  public var sentAt: WireTime
  public var content: ContentBody
  public var metadata: RawObject?
  /// The message that this one answers.
  public var replyTo: String?
  /// In the order in which its author put them; absent: nobody.
  public var mentions: [MentionBody]?
  /// Of the last edit.
  public var editedAt: WireTime?
  /// Then the content is of type `deleted`.
  public var deletedAt: WireTime?
  /// Its sender or, in a group, an admin.
  public var deletedBy: String?
  public var reactions: ReactionsBody?
  /// How often it has changed; absent: never. Of two copies the one with the greater
  /// number is the later.
  public var version: Int64?
  /// Where it was said before.
  public var forwardedFrom: ForwardedFromBody?
  /// Since when it stands at the top of its dialog.
  public var pinnedAt: WireTime?
  public var pinnedBy: String?

  public init(
    id: String, seq: Int64, dialogId: String, senderId: String, clientId: String?, sentAt: WireTime,
    content: ContentBody, metadata: RawObject?, replyTo: String? = nil, mentions: [MentionBody]? = nil,
    editedAt: WireTime? = nil, deletedAt: WireTime? = nil, deletedBy: String? = nil, reactions: ReactionsBody? = nil,
    version: Int64? = nil, senderNick: String? = nil, forwardedFrom: ForwardedFromBody? = nil,
    pinnedAt: WireTime? = nil, pinnedBy: String? = nil
  ) {
    self.forwardedFrom = forwardedFrom
    self.pinnedAt = pinnedAt
    self.pinnedBy = pinnedBy
    self.id = id
    self.seq = seq
    self.dialogId = dialogId
    self.senderId = senderId
    self.senderNick = senderNick
    self.clientId = clientId
    self.sentAt = sentAt
    self.content = content
    self.metadata = metadata
    self.replyTo = replyTo
    self.mentions = mentions
    self.editedAt = editedAt
    self.deletedAt = deletedAt
    self.deletedBy = deletedBy
    self.reactions = reactions
    self.version = version
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("id", id)
    writer.member("seq", seq)
    writer.member("dialogId", dialogId)
    writer.member("senderId", senderId)
    writer.member("senderNick", senderNick)
    writer.member("clientId", clientId)
    writer.member("sentAt", sentAt)
    writer.member("content", content)
    writer.member("metadata", metadata)
    writer.member("replyTo", replyTo)
    writer.member("forwardedFrom", forwardedFrom)
    writer.member("mentions", mentions)
    writer.member("editedAt", editedAt)
    writer.member("deletedAt", deletedAt)
    writer.member("deletedBy", deletedBy)
    writer.member("reactions", reactions)
    writer.member("pinnedAt", pinnedAt)
    writer.member("pinnedBy", pinnedBy)
    writer.member("version", version)
    writer.endObject()
  }
}

/// `{"👍":["romeo","nurse"]}`: who reacted how. Emoji in the order in which they
/// were first used, and so the people of each.
public struct ReactionsBody: Hashable, Sendable, JSONWritable {
  public struct Line: Hashable, Sendable {
    public var emoji: String
    public var userIds: [String]
    public init(emoji: String, userIds: [String]) {
      self.emoji = emoji
      self.userIds = userIds
    }
  }
  public var lines: [Line]
  public init(lines: [Line]) { self.lines = lines }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    for line in lines {
      writer.name(text: line.emoji)
      writer.beginArray()
      for id in line.userIds { writer.string(id) }
      writer.endArray()
    }
    writer.endObject()
  }
}

extension ReactionsBody: Codable {
  /// What decodes may have lost the order of members.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: AnyKey.self)
    lines = try container.allKeys.map {
      Line(emoji: $0.stringValue, userIds: try container.decode([String].self, forKey: $0))
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: AnyKey.self)
    for line in lines { try container.encode(line.userIds, forKey: AnyKey(line.emoji)) }
  }
}
