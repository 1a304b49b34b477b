import Basics
import JSON

/// A dialog. Events, which are the same for every viewer, omit `user`, `me`, `ownerId`, `lastMessage` and an `externalId`
/// that the creator has given; `GET /v1/dialogs/{dialogId}` has them.
struct DialogBody: Hashable, Sendable, JSONObjectWritable {
  /// The type: `private` for two users; `group` is members-only and non-anonymous; anyone may join a `public` one.
  enum Kind: String, Sendable, CaseIterable {
    case isPrivate = "private"
    case group
    case isPublic = "public"
  }

  /// The history from before their membership that new members may read.
  enum HistoryVisibility: String, Sendable, CaseIterable { case all, sinceJoin }

  /// The caller's state of a dialog; absent for non-members.
  struct Mine: Hashable, Sendable, JSONObjectWritable {
    /// A `MemberBody.Role`; absent in a private dialog.
    var role: String?
    /// The caller's nick in this dialog; absent in a private one.
    var nick: String?
    /// True if the caller was kicked: they may read, and write again after joining again. Otherwise absent.
    var kicked: Bool?
    /// The number of messages of others behind the caller's read mark; the rule is in `docs/app-protocol.md`.
    var unreadCount: Int64
    /// The number of those that mention the caller.
    var mentionCount: Int64
    var readMessageId: String?
    var deliveredMessageId: String?
    var settings: DialogSettingsBody
    /// The caller's draft; absent if there is none.
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
  /// The address for XMPP clients; absent in a private dialog.
  var jid: String?
  /// The members of a private dialog, one id in a dialog with oneself. A group's members have their own list: `GET
  /// /v1/dialogs/{dialogId}/members`.
  var memberIds: [String]?
  /// The number of members; absent in a private dialog, as all that follow up to `externalId`.
  var memberCount: Int?
  /// The first of its owners.
  var ownerId: String?
  var name: String?
  var about: String?
  var topic: String?
  /// The SHA-1 of the avatar's bytes in lower-case hex, which changes with the avatar.
  var avatarHash: String?
  var metadata: RawObject?
  /// The settings of its owners, which are members here (`RoomSetting.all`).
  var settings: RawObject?
  /// True if the dialog ends as soon as nobody is in it, as an XMPP user has made it so. Otherwise absent.
  var temporary: Bool?
  /// The id that the backend has given, for members, or else the one that the caller has given as the creator.
  var externalId: String?
  var createdAt: Timestamp?
  /// The time of the last entry.
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
    if let settings { writer.members(of: settings) }
    writer.member("temporary", temporary)
    writer.member("externalId", externalId)
    writer.member("createdAt", createdAt)
    writer.member("updatedAt", updatedAt)
    writer.member("user", user)
    writer.member("lastMessage", lastMessage)
    writer.member("me", me)
  }
}

/// A page of dialogs and the event cursor at which it was read: applying the events from `cursor` on to the page misses
/// no change.
struct DialogPageBody: Hashable, Sendable, JSONObjectWritable {
  var items: [DialogBody]
  var nextCursor: String?
  var cursor: String
  /// The unread count over all dialogs, including those of other pages.
  var totalUnread: Int64
  /// The number of unread messages that mention the caller.
  var totalMentions: Int64

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("items", items)
    writer.member("nextCursor", nextCursor)
    writer.member("cursor", cursor)
    writer.member("totalUnread", totalUnread)
    writer.member("totalMentions", totalMentions)
  }
}
