import JSON

/// What each event's `data` holds. Durable events carry a cursor and say the
/// same to every viewer, but for the ids of people in a dialog that hides who
/// they are; the others are told to whoever is connected.

/// `message.deleted`, durable: for everybody, and for good, or for the caller alone.
struct MessageDeletedBody: Hashable, Sendable, JSONObjectWritable {
  var dialogId: String
  var messageId: String
  /// Its sender or, in a group, an admin.
  var by: String
  var reason: String?
  /// For whom.
  var whom: Audience = .everyone
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("dialogId", dialogId)
    writer.member("messageId", messageId)
    writer.member("by", by)
    writer.member("reason", reason)
    writer.member("for", whom.rawValue)
  }
}

/// `contact.updated`, durable.
struct ContactUpdatedBody: Hashable, Sendable, JSONObjectWritable {
  /// The contact after the change; where it was removed, as it was before.
  var contact: ContactBody
  var removed: Bool
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("contact", contact)
    writer.member("removed", removed)
  }
}

/// `block.updated`, durable.
struct BlockUpdatedBody: Hashable, Sendable, JSONObjectWritable {
  /// What was added to the block list, or taken from it.
  var blocks: [BlockBody]
  var blocked: Bool
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("blocks", blocks)
    writer.member("blocked", blocked)
  }
}

/// `user.updated`: durable for one's own profile, else a signal.
struct UserUpdatedBody: Hashable, Sendable, JSONObjectWritable {
  var user: UserBody
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("user", user)
  }
}

/// `dialog.created`, durable: a group or public dialog was made, or a private one
/// came to be without a message.
struct DialogCreatedBody: Hashable, Sendable, JSONObjectWritable {
  var dialog: DialogBody
  /// How the dialog itself shows it; absent in a private dialog.
  var message: MessageBody?
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("dialog", dialog)
    writer.member("message", message)
  }
}

/// `dialog.updated`, durable: its name, its topic or anything else of it changed.
struct DialogUpdatedBody: Hashable, Sendable, JSONObjectWritable {
  /// After the change, or later: apply it whole.
  var dialog: DialogBody
  /// How the dialog itself shows it; absent where it does not.
  var message: MessageBody?
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("dialog", dialog)
    writer.member("message", message)
  }
}

/// `dialog.deleted`, durable: the dialog is gone for everybody; or the caller has cleared it, and it is in no list until
/// something is said there.
struct DialogDeletedBody: Hashable, Sendable, JSONObjectWritable {
  var dialogId: String
  /// The last that was said there.
  var message: MessageBody?
  /// For whom.
  var whom: Audience = .everyone
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("dialogId", dialogId)
    writer.member("message", message)
    writer.member("for", whom.rawValue)
  }
}

/// `dialog.invited`, durable: somebody asks the caller into a dialog.
struct DialogInvitedBody: Hashable, Sendable, JSONObjectWritable {
  var dialogId: String
  var jid: String
  /// What the dialog is called.
  var name: String?
  var inviterId: String
  var reason: String?
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("dialogId", dialogId)
    writer.member("jid", jid)
    writer.member("name", name)
    writer.member("inviterId", inviterId)
    writer.member("reason", reason)
  }
}

/// `member.updated`, durable: somebody came, went, or is something else now. The
/// dialog stands beside it, for whoever came does not know it yet.
struct MemberUpdatedBody: Hashable, Sendable, JSONObjectWritable {
  var dialogId: String
  /// With the role `none`: they are gone.
  var member: MemberBody
  /// After the change, or later: apply it whole.
  var dialog: DialogBody
  /// How the dialog itself shows it; absent where it does not.
  var message: MessageBody?
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("dialogId", dialogId)
    writer.member("member", member)
    writer.member("dialog", dialog)
    writer.member("message", message)
  }
}

/// `typing.updated`: replaces what was said before about the dialog.
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
  /// How many of those mention the caller.
  var mentionCount: Int64
  /// Over all dialogs.
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

/// `ready`: the session stands; missed events follow, then `caught_up`.
struct ReadyBody: Hashable, Sendable, JSONObjectWritable {
  var user: UserBody
  var deviceId: String
  /// The end of the log as the session began: live events lie behind it.
  var cursor: String
  var features: [String]
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("user", user)
    writer.member("deviceId", deviceId)
    writer.member("cursor", cursor)
    writer.member("features", features)
  }
}

/// `caught_up`: everything up to `cursor` has been told.
struct CaughtUpBody: Hashable, Sendable, JSONObjectWritable {
  var cursor: String
  /// Over all dialogs.
  var totalUnread: Int64
  /// How many of those mention the caller.
  var totalMentions: Int64
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("cursor", cursor)
    writer.member("totalUnread", totalUnread)
    writer.member("totalMentions", totalMentions)
  }
}

/// `resync`: what lies between the client's cursor and `cursor` is not told;
/// fetch the lists anew and go on from here.
struct ResyncBody: Hashable, Sendable, JSONObjectWritable {
  enum Reason: String, Sendable, CaseIterable {
    /// The cursor is not one of this server's log as it is now.
    case cursorUnknown
    /// More events were missed than are replayed.
    case tooFarBehind
  }
  var reason: Reason
  var cursor: String
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("reason", reason.rawValue)
    writer.member("cursor", cursor)
  }
}

/// `goaway`: the server closes the connection; come back after a while.
struct GoAwayBody: Hashable, Sendable, JSONObjectWritable {
  var reason: String
  var retryAfterMs: Int
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("reason", reason)
    writer.member("retryAfterMs", retryAfterMs)
  }
}

/// `session.revoked`: the login ended; the tokens are worth nothing any more.
struct SessionRevokedBody: Hashable, Sendable, JSONObjectWritable {
  var reason: String
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("reason", reason)
  }
}
