import Addresses
import Dialogs
import JSON

/// The `data` of each event. An object of the protocol is always a member under its own name (`message`, `marker`), and
/// what concerns the change alone is beside it, so that a later version can tell more. Durable events have a cursor and
/// are the same for every viewer, except for the ids of users in a semi-anonymous dialog; the others are sent to
/// connected clients only.

/// `message.deleted`, durable: for everyone, permanently, or for the caller alone.
struct MessageDeletedBody: Hashable, Sendable, JSONObjectWritable {
  var dialogId: String
  var messageId: String
  /// The user who deleted it: its sender or, in a group, an admin.
  var by: String
  var reason: String?
  /// The users for whom it was deleted.
  var whom: Audience = .everyone
  /// The message as it is left, or as it is later: it replaces the one before. Absent if it was deleted for the caller
  /// alone.
  var message: MessageBody?
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("dialogId", dialogId)
    writer.member("messageId", messageId)
    writer.member("by", by)
    writer.member("reason", reason)
    writer.member("for", whom.rawValue)
    writer.member("message", message)
  }
}

/// `marker.updated`, durable: a user has received or read more.
struct MarkerUpdatedBody: Hashable, Sendable, JSONObjectWritable {
  var marker: MarkerBody
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("marker", marker)
  }
}

/// `settings.updated`, durable: the caller's settings of a dialog after the change.
struct SettingsUpdatedBody: Hashable, Sendable, JSONObjectWritable {
  var settings: DialogSettingsBody
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("settings", settings)
  }
}

/// `presence.updated`: a user whom the caller sees came, went, or shows something else.
struct PresenceUpdatedBody: Hashable, Sendable, JSONObjectWritable {
  var presence: PresenceBody
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("presence", presence)
  }
}

/// `contact.updated`, durable: a contact was added, changed or removed.
struct ContactUpdatedBody: Hashable, Sendable, JSONObjectWritable {
  /// The contact after the change; if it was removed, as it was before.
  var contact: ContactBody
  var removed: Bool
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("contact", contact)
    writer.member("removed", removed)
  }
}

/// `contacts.changed`, durable: an operator has changed a contact group, and with it several contacts.
struct ContactsChangedBody: Hashable, Sendable, JSONObjectWritable {
  /// `joined`, `left` or `renamed`.
  var change: String
  /// The users who joined or left; if the caller is among them, all members are new contacts, or none is one by this
  /// group any more.
  var userIds: [String]
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("change", change)
    writer.member("userIds", userIds)
  }
}

/// `block.updated`, durable: the block list was changed.
struct BlockUpdatedBody: Hashable, Sendable, JSONObjectWritable {
  /// The items that were added to the block list, or removed from it.
  var blocks: [BlockBody]
  var blocked: Bool
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("blocks", blocks)
    writer.member("blocked", blocked)
  }
}

/// `user.updated`: durable for the user's own profile, otherwise a signal.
struct UserUpdatedBody: Hashable, Sendable, JSONObjectWritable {
  var user: UserBody
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("user", user)
  }
}

/// `dialog.created`, durable: a group or public dialog was created, or a private one without a message.
struct DialogCreatedBody: Hashable, Sendable, JSONObjectWritable {
  var dialog: DialogBody
  /// The dialog's notice of it; absent in a private dialog.
  var message: MessageBody?
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("dialog", dialog)
    writer.member("message", message)
  }
}

/// `dialog.updated`, durable: its name, its topic or anything else of it changed.
struct DialogUpdatedBody: Hashable, Sendable, JSONObjectWritable {
  /// The message after the change, or later: replace it.
  var dialog: DialogBody
  /// The dialog's notice of it; absent if it shows none.
  var message: MessageBody?
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("dialog", dialog)
    writer.member("message", message)
  }
}

/// `dialog.deleted`, durable: the dialog was destroyed; or the caller has cleared it, and it is in no list until its
/// next message.
struct DialogDeletedBody: Hashable, Sendable, JSONObjectWritable {
  var dialogId: String
  /// The dialog's last message.
  var message: MessageBody?
  /// The users for whom it was deleted.
  var whom: Audience = .everyone
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("dialogId", dialogId)
    writer.member("message", message)
    writer.member("for", whom.rawValue)
  }
}

/// `dialog.invited`, durable: the caller was invited to a dialog.
struct DialogInvitedBody: Hashable, Sendable, JSONObjectWritable {
  /// Absent for a room elsewhere, which is no dialog of the app.
  var dialogId: String?
  var jid: String
  /// The dialog's name.
  var name: String?
  /// Absent if a room elsewhere does not say it.
  var inviterId: String?
  var reason: String?
  /// True for a room of another server, which XMPP clients can enter.
  var elsewhere: Bool?
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("dialogId", dialogId)
    writer.member("jid", jid)
    writer.member("name", name)
    writer.member("inviterId", inviterId)
    writer.member("reason", reason)
    writer.member("elsewhere", elsewhere)
  }
}

extension DialogInvitedBody {
  /// Creates the body of an invitation that a room elsewhere sent (XEP-0045 7.8.2).
  init(elsewhere entry: Entry, _ content: Content, _ rendering: Rendering) {
    let fields = content.fields.flatMap { try? JSONValue(parsing: $0) }
    self.init(
      jid: entry.author.address.description,
      inviterId: (fields?["inviter"]?.string).flatMap { BareJID(parsing: $0) }.map {
        rendering.userID($0, domain: entry.addressee.domain)
      },
      reason: fields?["reason"]?.string, elsewhere: true)
  }
}

/// `member.updated`, durable: a user joined, left, or has another role. It contains the dialog, which a new member does
/// not know yet.
struct MemberUpdatedBody: Hashable, Sendable, JSONObjectWritable {
  var dialogId: String
  /// The member; with the role `none` if they left.
  var member: MemberBody
  /// The dialog after the change, or later: replace it.
  var dialog: DialogBody
  /// The dialog's notice of it; absent if it shows none.
  var message: MessageBody?
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("dialogId", dialogId)
    writer.member("member", member)
    writer.member("dialog", dialog)
    writer.member("message", message)
  }
}

/// `typing.updated`: replaces the previous list of the dialog.
struct TypingUpdatedBody: Hashable, Sendable, JSONObjectWritable {
  var dialogId: String
  var userIds: [String]
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("dialogId", dialogId)
    writer.member("userIds", userIds)
  }
}

/// `unread.updated`: the caller's own numbers, some time after they changed.
struct UnreadUpdatedBody: Hashable, Sendable, JSONObjectWritable {
  var dialogId: String
  var unreadCount: Int64
  /// The number of those that mention the caller.
  var mentionCount: Int64
  /// The sum over all dialogs.
  var totalUnread: Int64
  var totalMentions: Int64
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("dialogId", dialogId)
    writer.member("unreadCount", unreadCount)
    writer.member("mentionCount", mentionCount)
    writer.member("totalUnread", totalUnread)
    writer.member("totalMentions", totalMentions)
  }
}

/// `ready`: the session is open; missed events follow, then `caught_up`.
struct ReadyBody: Hashable, Sendable, JSONObjectWritable {
  var user: UserBody
  var deviceId: String
  /// The end of the log when the session began: live events are behind it.
  var cursor: String
  var features: [String]
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("user", user)
    writer.member("deviceId", deviceId)
    writer.member("cursor", cursor)
    writer.member("features", features)
  }
}

/// `caught_up`: everything up to `cursor` has been sent.
struct CaughtUpBody: Hashable, Sendable, JSONObjectWritable {
  var cursor: String
  /// The sums over all dialogs.
  var totalUnread: Int64
  /// The number of those that mention the caller.
  var totalMentions: Int64
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("cursor", cursor)
    writer.member("totalUnread", totalUnread)
    writer.member("totalMentions", totalMentions)
  }
}

/// `resync`: the events between the client's cursor and `cursor` are not sent; fetch the lists anew and continue from
/// here.
struct ResyncBody: Hashable, Sendable, JSONObjectWritable {
  enum Reason: String, Sendable, CaseIterable {
    /// The cursor is unknown to this server's current log.
    case cursorUnknown
    /// More events were missed than are replayed.
    case tooFarBehind
    /// Events that were missed have gone by their age.
    case expired
  }
  var reason: Reason
  var cursor: String
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("reason", reason.rawValue)
    writer.member("cursor", cursor)
  }
}

/// `goaway`: the server closes the connection; reconnect after a while.
struct GoAwayBody: Hashable, Sendable, JSONObjectWritable {
  var reason: String
  var retryAfterMs: Int
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("reason", reason)
    writer.member("retryAfterMs", retryAfterMs)
  }
}

/// `session.revoked`: the login ended; its tokens are invalid.
struct SessionRevokedBody: Hashable, Sendable, JSONObjectWritable {
  var reason: String
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("reason", reason)
  }
}
