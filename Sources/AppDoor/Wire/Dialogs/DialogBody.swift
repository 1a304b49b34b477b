import Basics
import JSON

/// A dialog. In events, which are the same for every viewer, `user`, `me`,
/// `ownerId` and `lastMessage` are left out; `GET /v1/dialogs/{dialogId}` has them.
struct DialogBody: Hashable, Sendable, JSONObjectWritable {
  /// `private` for two; `group` is closed and its members know each other;
  /// `public` anybody may join.
  enum Kind: String, Sendable, CaseIterable {
    case isPrivate = "private"
    case group
    case isPublic = "public"
  }

  /// What a new member may read of the time before.
  enum HistoryVisibility: String, Sendable, CaseIterable { case all, sinceJoin }

  /// Who puts messages at its top, and takes them down: whoever moderates it besides.
  enum WhoPins: String, Sendable, CaseIterable { case admins, members }

  /// What a dialog is to the caller; absent where they are no member.
  struct Mine: Hashable, Sendable, JSONObjectWritable {
    /// A `MemberBody.Role`; absent in a private dialog.
    var role: String?
    /// What the caller is called in this dialog; absent in a private one.
    var nick: String?
    /// True where the caller was put out: they read, and write again when they have
    /// joined again. Else absent.
    var kicked: Bool?
    /// Messages of others behind what the caller has read; the rule is in
    /// `docs/app-protocol.md`.
    var unreadCount: Int64
    /// How many of those mention the caller.
    var mentionCount: Int64
    var readMessageId: String?
    var deliveredMessageId: String?
    var settings: DialogSettingsBody
    /// What the caller has begun to write; absent: nothing.
    var draft: DraftBody?

    func writeMembers(to writer: inout JSONWriter) {
      writer.member("role", role)
      writer.member("nick", nick)
      writer.member("kicked", kicked)
      writer.member("unreadCount", unreadCount)
      writer.member("mentionCount", mentionCount)
      writer.member("readMessageId", readMessageId)
      writer.member("deliveredMessageId", deliveredMessageId)
      settings.writeSettings(to: &writer)
      writer.member("draft", draft)
    }
  }

  var id: String
  /// A `Kind`.
  var type: String
  /// The address that XMPP clients enter; absent in a private dialog.
  var jid: String?
  /// Of a private dialog, one id in a dialog with oneself. A group's members have
  /// a list of their own: `GET /v1/dialogs/{dialogId}/members`.
  var memberIds: [String]?
  /// How many members there are; absent in a private dialog, as all that follows
  /// up to `externalId`.
  var memberCount: Int?
  /// The first of its owners.
  var ownerId: String?
  var name: String?
  var about: String?
  var topic: String?
  /// SHA-1 of the avatar's bytes in lower-case hex: changes when the avatar does.
  var avatarHash: String?
  var metadata: RawObject?
  /// A `HistoryVisibility`.
  var historyVisibility: String?
  /// Seconds between two messages of one member; 0: none.
  var slowModeSeconds: Int?
  /// A `WhoPins`.
  var whoPins: String?
  /// What another system calls it; shown to members only.
  var externalId: String?
  var createdAt: Timestamp?
  /// When anything last happened in it.
  var updatedAt: Timestamp?
  /// The other member of a private dialog.
  var user: UserBody?
  var lastMessage: MessageBody?
  var me: Mine?

  func writeMembers(to writer: inout JSONWriter) {
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
  }
}

/// A page of dialogs, with the place in the events where it was taken: events
/// from `cursor` on, applied to the page, lose nothing.
struct DialogPageBody: Hashable, Sendable, JSONObjectWritable {
  var items: [DialogBody]
  var nextCursor: String?
  var cursor: String
  /// Over all dialogs, those of other pages too.
  var totalUnread: Int64
  /// How many of those mention the caller.
  var totalMentions: Int64

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("items", items)
    writer.member("nextCursor", nextCursor)
    writer.member("cursor", cursor)
    writer.member("totalUnread", totalUnread)
    writer.member("totalMentions", totalMentions)
  }
}
