/// A dialog. In events, which are the same for every viewer, `user`, `me`,
/// `ownerId` and `lastMessage` are left out; `GET /v1/dialogs/{dialogId}` has them.
public struct DialogBody: Codable, Hashable, Sendable, JSONWritable {
  /// `private` for two; `group` is closed and its members know each other;
  /// `public` anybody may join.
  public enum Kind: String, Codable, Sendable, CaseIterable {
    case isPrivate = "private"
    case group
    case isPublic = "public"
  }

  /// What a new member may read of the time before.
  public enum HistoryVisibility: String, Codable, Sendable, CaseIterable { case all, sinceJoin }

  /// Who puts messages at its top, and takes them down: whoever moderates it besides.
  public enum WhoPins: String, Codable, Sendable, CaseIterable { case admins, members }

  /// What a dialog is to the caller; absent where they are no member.
  public struct Mine: Codable, Hashable, Sendable, JSONWritable {
    /// A `MemberBody.Role`; absent in a private dialog.
    public var role: String?
    /// What the caller is called in this dialog; absent in a private one.
    public var nick: String?
    /// True where the caller was put out: they read, and write again when they have
    /// joined again. Else absent.
    public var kicked: Bool?
    /// Messages of others behind what the caller has read; the rule is in
    /// `docs/app-protocol.md`.
    public var unreadCount: Int64
    /// How many of those mention the caller.
    public var mentionCount: Int64
    public var readMessageId: String?
    public var deliveredMessageId: String?
    /// What follows is as in `DialogSettingsBody`.
    public var notify: String?
    public var mutedUntil: WireTime?
    public var pinned: Bool
    public var archived: Bool
    public var markedUnread: Bool
    /// What the caller has begun to write; absent: nothing.
    public var draft: DraftBody?

    public init(
      role: String? = nil, nick: String? = nil, kicked: Bool? = nil, unreadCount: Int64, mentionCount: Int64,
      readMessageId: String?, deliveredMessageId: String?, settings: DialogSettingsBody, draft: DraftBody? = nil
    ) {
      self.role = role
      self.nick = nick
      self.kicked = kicked
      self.unreadCount = unreadCount
      self.mentionCount = mentionCount
      self.readMessageId = readMessageId
      self.deliveredMessageId = deliveredMessageId
      notify = settings.notify
      mutedUntil = settings.mutedUntil
      pinned = settings.pinned
      archived = settings.archived
      markedUnread = settings.markedUnread
      self.draft = draft
    }

    public func write(to writer: inout JSONWriter) {
      writer.beginObject()
      writer.member("role", role)
      writer.member("nick", nick)
      writer.member("kicked", kicked)
      writer.member("unreadCount", unreadCount)
      writer.member("mentionCount", mentionCount)
      writer.member("readMessageId", readMessageId)
      writer.member("deliveredMessageId", deliveredMessageId)
      writer.member("notify", notify)
      writer.member("mutedUntil", mutedUntil)
      writer.member("pinned", pinned)
      writer.member("archived", archived)
      writer.member("markedUnread", markedUnread)
      writer.member("draft", draft)
      writer.endObject()
    }
  }

  public var id: String
  /// A `Kind`.
  public var type: String
  /// The address that XMPP clients enter; absent in a private dialog.
  public var jid: String?
  /// Of a private dialog, one id in a dialog with oneself. A group's members have
  /// a list of their own: `GET /v1/dialogs/{dialogId}/members`.
  public var memberIds: [String]?
  /// How many members there are; absent in a private dialog, as all that follows
  /// up to `externalId`.
  public var memberCount: Int?
  /// The first of its owners.
  public var ownerId: String?
  public var name: String?
  public var about: String?
  public var topic: String?
  /// SHA-1 of the avatar's bytes in lower-case hex: changes when the avatar does.
  public var avatarHash: String?
  public var metadata: RawObject?
  /// A `HistoryVisibility`.
  public var historyVisibility: String?
  /// Seconds between two messages of one member; 0: none.
  public var slowModeSeconds: Int?
  /// A `WhoPins`.
  public var whoPins: String?
  /// What another system calls it; shown to members only.
  public var externalId: String?
  public var createdAt: WireTime?
  /// When anything last happened in it.
  public var updatedAt: WireTime?
  /// The other member of a private dialog.
  public var user: UserBody?
  public var lastMessage: MessageBody?
  public var me: Mine?

  /// A private dialog.
  public init(
    id: String, type: String, memberIds: [String]?, createdAt: WireTime? = nil, updatedAt: WireTime? = nil,
    user: UserBody? = nil, lastMessage: MessageBody? = nil, me: Mine? = nil
  ) {
    self.id = id
    self.type = type
    self.memberIds = memberIds
    self.createdAt = createdAt
    self.updatedAt = updatedAt
    self.user = user
    self.lastMessage = lastMessage
    self.me = me
  }

  /// A group or public dialog.
  public init(
    id: String, type: String, jid: String, memberCount: Int, name: String?, about: String?, topic: String?,
    avatarHash: String?, metadata: RawObject, historyVisibility: String, slowModeSeconds: Int, whoPins: String,
    externalId: String?, createdAt: WireTime
  ) {
    self.id = id
    self.type = type
    self.jid = jid
    self.memberCount = memberCount
    self.name = name
    self.about = about
    self.topic = topic
    self.avatarHash = avatarHash
    self.metadata = metadata
    self.historyVisibility = historyVisibility
    self.slowModeSeconds = slowModeSeconds
    self.whoPins = whoPins
    self.externalId = externalId
    self.createdAt = createdAt
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("id", id)
    writer.member("type", type)
    writer.member("jid", jid)
    writer.member("memberIds", memberIds)
    writer.member("memberCount", memberCount)
    writer.member("ownerId", ownerId)
    writer.member("name", name)
    writer.member("about", about)
    writer.member("topic", topic)
    writer.member("avatarHash", avatarHash)
    writer.member("metadata", metadata)
    writer.member("historyVisibility", historyVisibility)
    writer.member("slowModeSeconds", slowModeSeconds)
    writer.member("whoPins", whoPins)
    writer.member("externalId", externalId)
    writer.member("createdAt", createdAt)
    writer.member("updatedAt", updatedAt)
    writer.member("user", user)
    writer.member("lastMessage", lastMessage)
    writer.member("me", me)
    writer.endObject()
  }
}
