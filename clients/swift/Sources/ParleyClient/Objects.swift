public import Foundation

// Objects of the protocol, as openapi.yaml describes them. Members that this version does not know are left out.

/// What `GET /v1/info` says of the server.
public struct Info: Codable, Hashable, Sendable {
  public struct Limits: Codable, Hashable, Sendable {
    public var textCharacters, messageBytes, metadataBytes, pageItems, syncEvents, syncWaitSeconds, attachmentBytes: Int
  }

  public var server, version, domain: String
  public var protocols, features: [String]
  /// The values of `grant` that sign in.
  public var grants: [String]
  public var providers: [String]
  public var registration: Bool
  public var webSocketUrl: String
  public var limits: Limits
  public var pushProviders: [String]
  public var webPushKey: String?
  /// The page with the terms of use.
  public var termsUrl: String?
}

/// A new invitation: `url` is the page for the guest, `xmppUri` is for an XMPP client of theirs (XEP-0401).
public struct NewInvitation: Codable, Hashable, Sendable {
  public var url, xmppUri, token: String
  public var expiresAt: Date
}

/// What the token of an invitation's link stands for.
public struct Invitation: Codable, Hashable, Sendable {
  public var username, inviterId, inviterName: String?
  public var expiresAt: Date
}

/// A user, as others see them.
public struct User: Codable, Hashable, Sendable, Identifiable {
  public var id, jid: String
  public var name, status, avatarHash, avatarUrl: String?
  public var metadata: JSONObject?
  public var contactsMetadata: JSONObject?
  public var createdAt, lastSeenAt: Date?
  public var distance: Double?
  public var deleted, guest, remote: Bool?
}

/// The user who is signed in.
public struct Me: Codable, Hashable, Sendable, Identifiable {
  public struct Terms: Codable, Hashable, Sendable {
    public var version: String
    public var acceptedAt: Date
  }

  public var id, jid: String
  public var name, status, avatarHash, avatarUrl: String?
  public var metadata, contactsMetadata, privateMetadata: JSONObject?
  public var createdAt, lastSeenAt, lastLoginAt: Date?
  public var guest: Bool?
  /// `everybody`, `contacts` or `nobody`.
  public var lastSeenVisibility, callsFrom, messagesFrom: String?
  public var searchable, matchable, hasPassword, secondFactor: Bool?
  public var terms: Terms?
  public var termsRequired, email, phone: String?
}

public struct Availability: Word {
  public var rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
  public static let online: Self = "online", chat: Self = "chat", away: Self = "away"
  public static let extendedAway: Self = "extendedAway", doNotDisturb: Self = "doNotDisturb", offline: Self = "offline"
}

public struct Presence: Codable, Hashable, Sendable {
  public var userId: String
  public var online: Bool
  public var availability: Availability
  public var status: String?
  public var lastSeenAt: Date?
}

public struct Contact: Codable, Hashable, Sendable {
  public struct State: Word {
    public var rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public static let none: Self = "none", pendingOut: Self = "pendingOut", pendingIn: Self = "pendingIn"
    public static let following: Self = "following", followedBy: Self = "followedBy", mutual: Self = "mutual"
  }

  public var userId, jid: String
  public var name: String?
  public var groups: [String]
  public var shared: Bool
  public var state: State
}

public struct Block: Codable, Hashable, Sendable {
  public var userId: String?
  public var jid: String
}

public struct Role: Word {
  public var rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
  public static let owner: Self = "owner", admin: Self = "admin", member: Self = "member", watcher: Self = "watcher"
  /// `banned` and `none` are no members.
  public static let banned: Self = "banned", none: Self = "none"
}

public struct Member: Codable, Hashable, Sendable {
  public var userId: String
  public var jid: String?
  public var role: Role
  public var nick, name: String?
  public var joinedAt: Date?
  public var kicked: Bool?
}

public struct Draft: Codable, Hashable, Sendable {
  public var dialogId, text: String
  public var replyTo: String?
  public var updatedAt: Date
}

public struct Notify: Word {
  public var rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
  public static let always: Self = "always", mentions: Self = "mentions", never: Self = "never"
}

/// The user's own settings of a dialog.
public struct DialogSettings: Codable, Hashable, Sendable {
  public var dialogId: String
  public var notify: Notify?
  public var mutedUntil: Date?
  public var pinned, archived, markedUnread: Bool
  /// The days after which messages go from the user's view; `nil`: they stay.
  public var retentionDays: Int?
}

public struct DialogType: Word {
  public var rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
  public static let `private`: Self = "private", group: Self = "group", `public`: Self = "public"
}

public struct Dialog: Codable, Hashable, Sendable, Identifiable {
  /// The caller's own data.
  public struct Mine: Codable, Hashable, Sendable {
    public var role: Role?
    public var nick: String?
    public var kicked: Bool?
    public var unreadCount = 0
    public var mentionCount = 0
    public var readMessageId, deliveredMessageId: String?
    public var notify: Notify?
    public var mutedUntil: Date?
    public var pinned = false
    public var archived = false
    public var markedUnread = false
    public var retentionDays: Int?
    public var draft: Draft?
  }

  public var id: String
  public var type: DialogType
  public var jid: String?
  public var memberIds: [String]?
  public var memberCount: Int?
  public var ownerId, name, about, topic, avatarHash: String?
  public var metadata: JSONObject?
  /// `all` or `sinceJoin`.
  public var historyVisibility: String?
  public var slowModeSeconds: Int?
  /// `admins` or `members`.
  public var whoPins: String?
  public var acceptsRemote, temporary: Bool?
  /// The id that the backend has given, or else the user as the creator: two dialogs may have the same one. It is no key.
  public var externalId: String?
  public var createdAt, updatedAt: Date?
  /// Of a private dialog: the other user.
  public var user: User?
  public var lastMessage: Message?
  /// Absent for those who are no members.
  public var me: Mine?
}

public struct Thumbnail: Codable, Hashable, Sendable {
  public var url: String
  public var mediaType: String?
  public var width, height: Int?
}

public struct Attachment: Codable, Hashable, Sendable {
  public var id, name, mediaType: String?
  public var size: Int?
  public var sha256: String?
  public var width, height, durationMs: Int?
  /// Absent only while it is still in the outbox. Read it at ``Parley/fileUrl(_:)``.
  public var url: String?
  public var purpose: String?
  public var expiresAt, uploadUntil: Date?
  public var uploadUrl: String?
  public var thumbnail: Thumbnail?
}

public struct ContentType: Word {
  public var rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
  public static let text: Self = "text", location: Self = "location", contact: Self = "contact",
    sticker: Self = "sticker"
  public static let custom: Self = "custom", image: Self = "image", video: Self = "video", audio: Self = "audio"
  public static let file: Self = "file", encrypted: Self = "encrypted", system: Self = "system", call: Self = "call"
  public static let deleted: Self = "deleted"
}

/// What a message contains. Show ``text`` for a ``type`` that you do not know.
public struct Content: Codable, Hashable, Sendable {
  public var type: ContentType
  public var text: String
  public var attachments: [Attachment]?
  /// Everything else: `lat`, `lng`, `kind`, `payload`, …
  public var members: JSONObject

  public subscript(_ name: String) -> JSONValue? { members[name] }

  init(type: ContentType, text: String, attachments: [Attachment]? = nil, members: JSONObject = [:]) {
    (self.type, self.text, self.attachments, self.members) = (type, text, attachments, members)
  }

  public init(from decoder: any Decoder) throws {
    let known = try decoder.container(keyedBy: Known.self)
    type = try known.decode(ContentType.self, forKey: .type)
    text = try known.decodeIfPresent(String.self, forKey: .text) ?? ""
    attachments = try known.decodeIfPresent([Attachment].self, forKey: .attachments)
    members = try JSONObject(from: decoder)
    for key in Known.allCases { members[key.rawValue] = nil }
  }

  public func encode(to encoder: any Encoder) throws {
    try members.encode(to: encoder)
    var known = encoder.container(keyedBy: Known.self)
    try known.encode(type, forKey: .type)
    try known.encode(text, forKey: .text)
    try known.encodeIfPresent(attachments, forKey: .attachments)
  }

  private enum Known: String, CodingKey, CaseIterable { case type, text, attachments }
}

/// `begin` and `end` count Unicode scalars of the text.
public struct Mention: Codable, Hashable, Sendable {
  public var userId: String
  public var begin, end: Int?

  public init(userId: String, begin: Int? = nil, end: Int? = nil) {
    (self.userId, self.begin, self.end) = (userId, begin, end)
  }
}

public struct Message: Codable, Hashable, Sendable, Identifiable {
  public struct Origin: Codable, Hashable, Sendable {
    public var senderId: String?
    public var sentAt: Date
  }

  /// Of a message to another server.
  public struct Delivery: Codable, Hashable, Sendable {
    /// `queued` or `failed`.
    public var state: String
    public var code, text: String?
  }

  public var id: String
  public var seq: Int
  public var dialogId, senderId: String
  public var senderNick, clientId: String?
  public var sentAt: Date
  public var content: Content
  public var metadata: JSONObject?
  public var replyTo: String?
  public var forwardedFrom: Origin?
  public var mentions: [Mention]?
  public var editedAt, deletedAt: Date?
  public var deletedBy: String?
  public var reactions: [String: [String]]?
  public var pinnedAt: Date?
  public var pinnedBy: String?
  public var delivery: Delivery?
  public var version: Int?
}

/// Up to which messages a member has received and read a dialog.
public struct Marker: Codable, Hashable, Sendable {
  public var dialogId: String
  public var userId: String
  public var delivered, read: String?
}

public struct Edit: Codable, Hashable, Sendable {
  public var text: String
  public var at: Date
}

public struct Receipt: Codable, Hashable, Sendable {
  public var userId: String
  public var delivered, read: Bool
  public var deliveredAt, readAt: Date?
}

public struct ScheduledMessage: Codable, Hashable, Sendable, Identifiable {
  public struct State: Word {
    public var rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public static let pending: Self = "pending", failed: Self = "failed", sent: Self = "sent",
      cancelled: Self = "cancelled"
  }

  public var id, dialogId, clientId: String
  public var sendAt, createdAt: Date
  public var state: State
  public var content: Content
  public var metadata: JSONObject?
  public var replyTo: String?
  public var mentions: [Mention]?
  public var messageId, code, detail: String?
}

public struct CallReason: Word {
  public var rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
  public static let rejected: Self = "rejected", cancelled: Self = "cancelled", busy: Self = "busy",
    timeout: Self = "timeout"
  public static let ended: Self = "ended", failed: Self = "failed", replaced: Self = "replaced",
    crossed: Self = "crossed"
  public static let incompatible: Self = "incompatible"
}

public struct CallState: Codable, Hashable, Sendable, Identifiable {
  public struct Kind: Word {
    public var rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public static let audio: Self = "audio", video: Self = "video"
  }

  public struct Phase: Word {
    public var rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public static let ringing: Self = "ringing", accepted: Self = "accepted", ended: Self = "ended"
  }

  public struct Participant: Codable, Hashable, Sendable {
    public var userId: String
    /// `caller` or `callee`.
    public var role: String
    public var deviceId: String?
  }

  public var id, dialogId, callerId: String
  public var kind: Kind
  public var state: Phase
  public var reason: CallReason?
  /// `jingle`: the other side is an XMPP client, and the server relays no media descriptions.
  public var media: String?
  public var createdAt: Date
  public var ringingAt, startedAt, endedAt: Date?
  public var participants: [Participant]
}

public struct IceServer: Codable, Hashable, Sendable {
  public var urls: [String]
  public var username, credential: String?
  public var expiresAt: Date?
}

public struct SessionSummary: Codable, Hashable, Sendable, Identifiable {
  public var id, deviceId: String
  public var client: String?
  public var createdAt, usedAt: Date
  public var current: Bool
}

public struct Identity: Codable, Hashable, Sendable, Identifiable {
  public var id, type: String
  public var provider: String?
  public var subject: String
  public var createdAt: Date
}

public struct AppPassword: Codable, Hashable, Sendable, Identifiable {
  public var id, name: String
  public var password: String?
  public var createdAt: Date
  public var usedAt: Date?
}

public struct Device: Codable, Hashable, Sendable, Identifiable {
  public var id: String
  public var platform, locale: String?
  public var push: JSONObject?
  public var updatedAt: Date
  public var current: Bool
}

public struct Export: Codable, Hashable, Sendable, Identifiable {
  public var id: String
  /// `pending`, `done` or `failed`.
  public var status: String
  public var createdAt: Date
  public var finishedAt, expiresAt: Date?
  public var url: String?
  public var size: Int?
  /// Whether some messages of others are left out, as `incomplete.txt` in the archive says.
  public var incomplete: Bool?
}

public struct StorageUse: Codable, Hashable, Sendable {
  public var bytes, bytesMax, files, filesMax, dayBytes, dayBytesMax, fileBytesMax, slots: Int
}

/// One page of a list. Pass ``nextCursor`` as `cursor` for the next; the last page has none.
public struct Page<Item: Codable & Hashable & Sendable>: Codable, Hashable, Sendable {
  public var items: [Item]
  public var nextCursor: String?
}

/// The newest messages of a dialog, with what else it shows when it is opened.
struct OpenedDialog: Codable, Sendable {
  var items: [Message]
  var nextCursor: String?
  var dialog: Dialog
  var markers: Page<Marker>
  var users: Page<User>
}

/// A page of the user's dialogs.
public struct DialogPage: Codable, Hashable, Sendable {
  public var items: [Dialog]
  public var nextCursor: String?
  /// The end of the log before the page was read.
  public var cursor: String?
  public var totalUnread, totalMentions: Int?
}
