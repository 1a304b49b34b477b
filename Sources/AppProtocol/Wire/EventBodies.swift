/// What each event's `data` holds. Durable events carry a cursor and say the
/// same to every viewer, but for the ids of people in a dialog that hides who
/// they are; the others are told to whoever is connected.

/// `message.created`, durable.
public struct MessageCreatedBody: Codable, Hashable, Sendable, JSONWritable {
  public var message: MessageBody
  public init(message: MessageBody) { self.message = message }
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("message", message)
    writer.endObject()
  }
}

/// `message.updated`, durable: it was edited, or somebody reacted to it.
public struct MessageUpdatedBody: Codable, Hashable, Sendable, JSONWritable {
  /// After the change, or later: apply it whole.
  public var message: MessageBody
  public init(message: MessageBody) { self.message = message }
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("message", message)
    writer.endObject()
  }
}

/// `message.deleted`, durable: for everybody, and for good, or for the caller alone.
public struct MessageDeletedBody: Codable, Hashable, Sendable, JSONWritable {
  public var dialogId: String
  public var messageId: String
  /// Its sender or, in a group, an admin.
  public var by: String
  public var reason: String?
  /// For whom.
  public var whom: Audience
  public init(dialogId: String, messageId: String, by: String, reason: String?, whom: Audience = .everyone) {
    self.whom = whom
    self.dialogId = dialogId
    self.messageId = messageId
    self.by = by
    self.reason = reason
  }
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("dialogId", dialogId)
    writer.member("messageId", messageId)
    writer.member("by", by)
    writer.member("reason", reason)
    writer.member("for", whom.rawValue)
    writer.endObject()
  }
  private enum CodingKeys: String, CodingKey {
    case dialogId, messageId, by, reason
    case whom = "for"
  }
}

/// `contact.updated`, durable.
public struct ContactUpdatedBody: Codable, Hashable, Sendable, JSONWritable {
  /// The contact after the change; where it was removed, as it was before.
  public var contact: ContactBody
  public var removed: Bool
  public init(contact: ContactBody, removed: Bool) {
    self.contact = contact
    self.removed = removed
  }
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("contact", contact)
    writer.member("removed", removed)
    writer.endObject()
  }
}

/// `block.updated`, durable.
public struct BlockUpdatedBody: Codable, Hashable, Sendable, JSONWritable {
  /// What was added to the block list, or taken from it.
  public var blocks: [BlockBody]
  public var blocked: Bool
  public init(blocks: [BlockBody], blocked: Bool) {
    self.blocks = blocks
    self.blocked = blocked
  }
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("blocks", blocks)
    writer.member("blocked", blocked)
    writer.endObject()
  }
}

/// `user.updated`: durable for one's own profile, else a signal.
public struct UserUpdatedBody: Codable, Hashable, Sendable, JSONWritable {
  public var user: UserBody
  public init(user: UserBody) { self.user = user }
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("user", user)
    writer.endObject()
  }
}

/// `dialog.created`, durable: a group or public dialog was made, or a private one
/// came to be without a message.
public struct DialogCreatedBody: Codable, Hashable, Sendable, JSONWritable {
  public var dialog: DialogBody
  /// How the dialog itself shows it; absent in a private dialog.
  public var message: MessageBody?
  public init(dialog: DialogBody, message: MessageBody? = nil) {
    self.dialog = dialog
    self.message = message
  }
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("dialog", dialog)
    writer.member("message", message)
    writer.endObject()
  }
}

/// `dialog.updated`, durable: its name, its topic or anything else of it changed.
public struct DialogUpdatedBody: Codable, Hashable, Sendable, JSONWritable {
  /// After the change, or later: apply it whole.
  public var dialog: DialogBody
  /// How the dialog itself shows it; absent where it does not.
  public var message: MessageBody?
  public init(dialog: DialogBody, message: MessageBody?) {
    self.dialog = dialog
    self.message = message
  }
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("dialog", dialog)
    writer.member("message", message)
    writer.endObject()
  }
}

/// `dialog.deleted`, durable: the dialog is gone for everybody; or the caller has cleared it, and it is in no list until
/// something is said there.
public struct DialogDeletedBody: Codable, Hashable, Sendable, JSONWritable {
  public var dialogId: String
  /// The last that was said there.
  public var message: MessageBody?
  /// For whom.
  public var whom: Audience
  public init(dialogId: String, message: MessageBody?, whom: Audience = .everyone) {
    self.whom = whom
    self.dialogId = dialogId
    self.message = message
  }
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("dialogId", dialogId)
    writer.member("message", message)
    writer.member("for", whom.rawValue)
    writer.endObject()
  }
  private enum CodingKeys: String, CodingKey {
    case dialogId, message
    case whom = "for"
  }
}

/// `dialog.invited`, durable: somebody asks the caller into a dialog.
public struct DialogInvitedBody: Codable, Hashable, Sendable, JSONWritable {
  public var dialogId: String
  public var jid: String
  /// What the dialog is called.
  public var name: String?
  public var inviterId: String
  public var reason: String?
  public init(dialogId: String, jid: String, name: String?, inviterId: String, reason: String?) {
    self.dialogId = dialogId
    self.jid = jid
    self.name = name
    self.inviterId = inviterId
    self.reason = reason
  }
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("dialogId", dialogId)
    writer.member("jid", jid)
    writer.member("name", name)
    writer.member("inviterId", inviterId)
    writer.member("reason", reason)
    writer.endObject()
  }
}

/// `member.updated`, durable: somebody came, went, or is something else now. The
/// dialog stands beside it, for whoever came does not know it yet.
public struct MemberUpdatedBody: Codable, Hashable, Sendable, JSONWritable {
  public var dialogId: String
  /// With the role `none`: they are gone.
  public var member: MemberBody
  /// After the change, or later: apply it whole.
  public var dialog: DialogBody
  /// How the dialog itself shows it; absent where it does not.
  public var message: MessageBody?
  public init(dialogId: String, member: MemberBody, dialog: DialogBody, message: MessageBody?) {
    self.dialogId = dialogId
    self.member = member
    self.dialog = dialog
    self.message = message
  }
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("dialogId", dialogId)
    writer.member("member", member)
    writer.member("dialog", dialog)
    writer.member("message", message)
    writer.endObject()
  }
}

/// `typing.updated`: replaces what was said before about the dialog.
public struct TypingUpdatedBody: Codable, Hashable, Sendable, JSONWritable {
  public var dialogId: String
  public var userIds: [String]
  public init(dialogId: String, userIds: [String]) {
    self.dialogId = dialogId
    self.userIds = userIds
  }
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("dialogId", dialogId)
    writer.member("userIds", userIds)
    writer.endObject()
  }
}

/// `unread.updated`: the caller's own numbers, some time after they changed.
public struct UnreadUpdatedBody: Codable, Hashable, Sendable, JSONWritable {
  public var dialogId: String
  public var unreadCount: Int64
  /// How many of those mention the caller.
  public var mentionCount: Int64
  /// Over all dialogs.
  public var totalUnread: Int64
  public var totalMentions: Int64
  public init(dialogId: String, unreadCount: Int64, mentionCount: Int64, totalUnread: Int64, totalMentions: Int64) {
    self.dialogId = dialogId
    self.unreadCount = unreadCount
    self.mentionCount = mentionCount
    self.totalUnread = totalUnread
    self.totalMentions = totalMentions
  }
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("dialogId", dialogId)
    writer.member("unreadCount", unreadCount)
    writer.member("mentionCount", mentionCount)
    writer.member("totalUnread", totalUnread)
    writer.member("totalMentions", totalMentions)
    writer.endObject()
  }
}

/// `ready`: the session stands; missed events follow, then `caught_up`.
public struct ReadyBody: Codable, Hashable, Sendable, JSONWritable {
  public var user: UserBody
  public var deviceId: String
  /// The end of the log as the session began: live events lie behind it.
  public var cursor: String
  public var features: [String]
  public init(user: UserBody, deviceId: String, cursor: String, features: [String]) {
    self.user = user
    self.deviceId = deviceId
    self.cursor = cursor
    self.features = features
  }
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("user", user)
    writer.member("deviceId", deviceId)
    writer.member("cursor", cursor)
    writer.member("features", features)
    writer.endObject()
  }
}

/// `caught_up`: everything up to `cursor` has been told.
public struct CaughtUpBody: Codable, Hashable, Sendable, JSONWritable {
  public var cursor: String
  /// Over all dialogs.
  public var totalUnread: Int64
  /// How many of those mention the caller.
  public var totalMentions: Int64
  public init(cursor: String, totalUnread: Int64, totalMentions: Int64) {
    self.cursor = cursor
    self.totalUnread = totalUnread
    self.totalMentions = totalMentions
  }
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("cursor", cursor)
    writer.member("totalUnread", totalUnread)
    writer.member("totalMentions", totalMentions)
    writer.endObject()
  }
}

/// `resync`: what lies between the client's cursor and `cursor` is not told;
/// fetch the lists anew and go on from here.
public struct ResyncBody: Codable, Hashable, Sendable, JSONWritable {
  public enum Reason: String, Codable, Sendable, CaseIterable {
    /// The cursor is not one of this server's log as it is now.
    case cursorUnknown
    /// More events were missed than are replayed.
    case tooFarBehind
  }
  public var reason: Reason
  public var cursor: String
  public init(reason: Reason, cursor: String) {
    self.reason = reason
    self.cursor = cursor
  }
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("reason", reason.rawValue)
    writer.member("cursor", cursor)
    writer.endObject()
  }
}

/// `goaway`: the server closes the connection; come back after a while.
public struct GoAwayBody: Codable, Hashable, Sendable, JSONWritable {
  public var reason: String
  public var retryAfterMs: Int
  public init(reason: String, retryAfterMs: Int) {
    self.reason = reason
    self.retryAfterMs = retryAfterMs
  }
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("reason", reason)
    writer.member("retryAfterMs", retryAfterMs)
    writer.endObject()
  }
}

/// `session.revoked`: the login ended; the tokens are worth nothing any more.
public struct SessionRevokedBody: Codable, Hashable, Sendable, JSONWritable {
  public var reason: String
  public init(reason: String) { self.reason = reason }
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("reason", reason)
    writer.endObject()
  }
}
