/// A dialog. In events, which are the same for every viewer, `user`, `me` and
/// `lastMessage` are left out; `GET /v1/dialogs/{dialogId}` has them.
public struct DialogBody: Codable, Hashable, Sendable, JSONWritable {
  /// What a dialog is to the caller.
  public struct Mine: Codable, Hashable, Sendable, JSONWritable {
    /// Messages of others behind what the caller has read; the rule is in
    /// `docs/app-protocol.md`.
    public var unreadCount: Int64
    public var readMessageId: String?
    public var deliveredMessageId: String?

    public init(unreadCount: Int64, readMessageId: String?, deliveredMessageId: String?) {
      self.unreadCount = unreadCount
      self.readMessageId = readMessageId
      self.deliveredMessageId = deliveredMessageId
    }

    public func write(to writer: inout JSONWriter) {
      writer.beginObject()
      writer.member("unreadCount", unreadCount)
      writer.member("readMessageId", readMessageId)
      writer.member("deliveredMessageId", deliveredMessageId)
      writer.endObject()
    }
  }

  public var id: String
  /// `private`; groups come later.
  public var type: String
  /// One id in a dialog with oneself.
  public var memberIds: [String]
  public var createdAt: WireTime?
  /// When anything last happened in it.
  public var updatedAt: WireTime?
  /// The other member.
  public var user: UserBody?
  public var lastMessage: MessageBody?
  public var me: Mine?

  public init(
    id: String, type: String, memberIds: [String], createdAt: WireTime? = nil, updatedAt: WireTime? = nil,
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

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("id", id)
    writer.member("type", type)
    writer.member("memberIds", memberIds)
    writer.member("createdAt", createdAt)
    writer.member("updatedAt", updatedAt)
    writer.member("user", user)
    writer.member("lastMessage", lastMessage)
    writer.member("me", me)
    writer.endObject()
  }
}
