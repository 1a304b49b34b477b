/// What operations and commands take. The parameters of path and query are
/// members too: `POST /v1/dialogs/{dialogId}/messages` with `{clientId, content}`
/// and the command `message.send` with `{dialogId, clientId, content}` are the
/// same input. Members that are not listed are ignored.

/// Nothing.
public struct NoInput: Codable, Hashable, Sendable {
  public init() {}
}

public struct RegisterInput: Codable, Hashable, Sendable {
  /// Absent, beside `email` or `phone`: one is made up.
  public var username: String?
  public var password: String
  public var name: String?
  /// An address of theirs, with the `code` that was sent to it.
  public var email: String?
  public var phone: String?
  public var code: String?
  public init(
    username: String? = nil, password: String, name: String? = nil, email: String? = nil, phone: String? = nil,
    code: String? = nil
  ) {
    self.username = username
    self.password = password
    self.name = name
    self.email = email
    self.phone = phone
    self.code = code
  }
}

public struct LogInInput: Codable, Hashable, Sendable {
  /// One of `InfoBody.grants`.
  public var grant: String
  /// Of the grant `password`, or in its place `email` or `phone`; may itself hold a mail address.
  public var username: String?
  public var password: String?
  public var refreshToken: String?
  /// Of the app's own backend.
  public var identityToken: String?
  /// One of `InfoBody.providers`, and its token.
  public var provider: String?
  public var idToken: String?
  /// A name for this installation, the same at every login; the server makes
  /// one up where it is absent.
  public var deviceId: String?
  /// What the client calls itself, for the list of sessions.
  public var client: String?
  public var email: String?
  public var phone: String?
  /// Of the grants `code` and `second-factor`; and of a provider without ID tokens, with the two below.
  public var code: String?
  /// RFC 7636 4.1.
  public var codeVerifier: String?
  /// Where the provider sent the code.
  public var redirectUri: String?
  /// Of the grant `code`: what somebody new is called.
  public var name: String?
  /// Of the grant `second-factor`: what `second-factor-required` brought.
  public var challenge: String?
  /// In place of `code`.
  public var recoveryCode: String?
  public init(
    grant: String, username: String? = nil, password: String? = nil, refreshToken: String? = nil,
    identityToken: String? = nil, provider: String? = nil, idToken: String? = nil, deviceId: String? = nil,
    client: String? = nil
  ) {
    self.grant = grant
    self.username = username
    self.password = password
    self.refreshToken = refreshToken
    self.identityToken = identityToken
    self.provider = provider
    self.idToken = idToken
    self.deviceId = deviceId
    self.client = client
  }
}

public struct SessionInput: Codable, Hashable, Sendable {
  /// The session's id, or `current`.
  public var sessionId: String
  public init(sessionId: String) { self.sessionId = sessionId }
}

public struct AppPasswordInput: Codable, Hashable, Sendable {
  /// What the user calls it: for what, and where.
  public var name: String
  public init(name: String) { self.name = name }
}

public struct AppPasswordReference: Codable, Hashable, Sendable {
  public var appPasswordId: String
  public init(appPasswordId: String) { self.appPasswordId = appPasswordId }
}

/// A member that may be absent (leave it), null (clear it) or a value.
public enum Change<Value: Codable & Hashable & Sendable>: Hashable, Sendable {
  case keep
  case clear
  case set(Value)
}

public struct UpdateMeInput: Codable, Hashable, Sendable {
  public var name: Change<String>
  public var status: Change<String>
  public var metadata: Change<RawObject>
  public var avatarUrl: Change<String>
  public var contactsMetadata: Change<RawObject>
  public var privateMetadata: Change<RawObject>
  /// `everybody`, `contacts` or `nobody`.
  public var lastSeenVisibility: String?
  public var searchable: Bool?
  public var matchable: Bool?
  /// As `lastSeenVisibility`.
  public var callsFrom: String?
  public init(
    name: Change<String> = .keep, status: Change<String> = .keep, metadata: Change<RawObject> = .keep,
    avatarUrl: Change<String> = .keep, contactsMetadata: Change<RawObject> = .keep,
    privateMetadata: Change<RawObject> = .keep, lastSeenVisibility: String? = nil, searchable: Bool? = nil,
    matchable: Bool? = nil, callsFrom: String? = nil
  ) {
    self.callsFrom = callsFrom
    self.name = name
    self.status = status
    self.metadata = metadata
    self.avatarUrl = avatarUrl
    self.contactsMetadata = contactsMetadata
    self.privateMetadata = privateMetadata
    self.lastSeenVisibility = lastSeenVisibility
    self.searchable = searchable
    self.matchable = matchable
  }

  private enum Keys: String, CodingKey {
    case name, status, metadata, avatarUrl, contactsMetadata, privateMetadata, lastSeenVisibility, searchable
    case matchable, callsFrom
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Keys.self)
    name = try container.change(.name)
    status = try container.change(.status)
    metadata = try container.change(.metadata)
    avatarUrl = try container.change(.avatarUrl)
    contactsMetadata = try container.change(.contactsMetadata)
    privateMetadata = try container.change(.privateMetadata)
    lastSeenVisibility = try container.decodeIfPresent(String.self, forKey: .lastSeenVisibility)
    searchable = try container.decodeIfPresent(Bool.self, forKey: .searchable)
    matchable = try container.decodeIfPresent(Bool.self, forKey: .matchable)
    callsFrom = try container.decodeIfPresent(String.self, forKey: .callsFrom)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Keys.self)
    try container.encode(name, .name)
    try container.encode(status, .status)
    try container.encode(metadata, .metadata)
    try container.encode(avatarUrl, .avatarUrl)
    try container.encode(contactsMetadata, .contactsMetadata)
    try container.encode(privateMetadata, .privateMetadata)
    try container.encodeIfPresent(lastSeenVisibility, forKey: .lastSeenVisibility)
    try container.encodeIfPresent(searchable, forKey: .searchable)
    try container.encodeIfPresent(matchable, forKey: .matchable)
    try container.encodeIfPresent(callsFrom, forKey: .callsFrom)
  }
}

extension KeyedDecodingContainer {
  func change<Value>(_ key: Key) throws -> Change<Value> {
    if !contains(key) { return .keep }
    if try decodeNil(forKey: key) { return .clear }
    return .set(try decode(Value.self, forKey: key))
  }
}

extension KeyedEncodingContainer {
  mutating func encode<Value>(_ change: Change<Value>, _ key: Key) throws {
    switch change {
    case .keep: break
    case .clear: try encodeNil(forKey: key)
    case .set(let value): try encode(value, forKey: key)
    }
  }
}

public struct UserInput: Codable, Hashable, Sendable {
  public var userId: String
  public init(userId: String) { self.userId = userId }
}

/// At most one of `query`, `ids`, `externalId` and `near`.
public struct ListUsersInput: Codable, Hashable, Sendable {
  /// What `field` says it is; absent: everybody.
  public var query: String?
  /// `name`, `id`, `email` or `phone`; absent: the beginning of an id or a part of a name.
  public var field: String?
  /// With commas between.
  public var ids: String?
  public var externalId: String?
  /// Latitude and longitude, with a comma between.
  public var near: String?
  /// Kilometres around `near`.
  public var radius: Int?
  public var cursor: String?
  public var limit: Int?
  public init(
    query: String? = nil, field: String? = nil, ids: String? = nil, externalId: String? = nil, near: String? = nil,
    radius: Int? = nil, cursor: String? = nil, limit: Int? = nil
  ) {
    self.query = query
    self.field = field
    self.ids = ids
    self.externalId = externalId
    self.near = near
    self.radius = radius
    self.cursor = cursor
    self.limit = limit
  }
}

public struct PutContactInput: Codable, Hashable, Sendable {
  public var userId: String
  public var name: String?
  public init(userId: String, name: String? = nil) {
    self.userId = userId
    self.name = name
  }
}

/// Of a private dialog `userId` alone; of a group or public one everything else.
public struct OpenDialogInput: Codable, Hashable, Sendable {
  public struct NewMember: Codable, Hashable, Sendable {
    public var userId: String
    /// `owner`, `admin`, `member` or `watcher`; absent: `member`.
    public var role: String?
    public init(userId: String, role: String? = nil) {
      self.userId = userId
      self.role = role
    }
  }

  /// A `DialogBody.Kind`.
  public var type: String
  public var userId: String?
  public var name: String?
  public var about: String?
  public var topic: String?
  public var metadata: RawObject?
  /// Ordinary members beside the caller, who is the owner.
  public var memberIds: [String]?
  /// The same with other roles.
  public var members: [NewMember]?
  /// A `DialogBody.HistoryVisibility`; absent: `all`.
  public var historyVisibility: String?
  /// What the app's own backend calls it: a dialog is made once for each.
  public var externalId: String?

  public init(
    type: String, userId: String? = nil, name: String? = nil, about: String? = nil, topic: String? = nil,
    metadata: RawObject? = nil, memberIds: [String]? = nil, members: [NewMember]? = nil,
    historyVisibility: String? = nil, externalId: String? = nil
  ) {
    self.type = type
    self.userId = userId
    self.name = name
    self.about = about
    self.topic = topic
    self.metadata = metadata
    self.memberIds = memberIds
    self.members = members
    self.historyVisibility = historyVisibility
    self.externalId = externalId
  }
}

public struct ListDialogsInput: Codable, Hashable, Sendable {
  /// `mine` or `public`; absent: `mine`.
  public var scope: String?
  /// Of one's own, those of this `DialogBody.Kind`.
  public var type: String?
  /// Of one's own, those that are, or are not; absent: both.
  public var archived: Bool?
  public var pinned: Bool?
  /// With unread messages, or marked as unread.
  public var unread: Bool?
  /// Of public dialogs: a part of the name, or the beginning of the address.
  public var query: String?
  public var cursor: String?
  public var limit: Int?
  public init(
    scope: String? = nil, type: String? = nil, archived: Bool? = nil, pinned: Bool? = nil, unread: Bool? = nil,
    query: String? = nil, cursor: String? = nil, limit: Int? = nil
  ) {
    self.scope = scope
    self.type = type
    self.archived = archived
    self.pinned = pinned
    self.unread = unread
    self.query = query
    self.cursor = cursor
    self.limit = limit
  }
}

public struct UpdateSettingsInput: Codable, Hashable, Sendable {
  public var dialogId: String
  /// A `DialogSettingsBody.Notify`; absent leaves it, as with all that follows, null: what is usual.
  public var notify: Change<String>
  /// Null, and a time that has been: not muted.
  public var mutedUntil: Change<WireTime>
  public var pinned: Bool?
  public var archived: Bool?
  public var markedUnread: Bool?

  public init(
    dialogId: String, notify: Change<String> = .keep, mutedUntil: Change<WireTime> = .keep, pinned: Bool? = nil,
    archived: Bool? = nil, markedUnread: Bool? = nil
  ) {
    self.dialogId = dialogId
    self.notify = notify
    self.mutedUntil = mutedUntil
    self.pinned = pinned
    self.archived = archived
    self.markedUnread = markedUnread
  }

  private enum Keys: String, CodingKey { case dialogId, notify, mutedUntil, pinned, archived, markedUnread }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Keys.self)
    dialogId = try container.decode(String.self, forKey: .dialogId)
    notify = try container.change(.notify)
    mutedUntil = try container.change(.mutedUntil)
    pinned = try container.decodeIfPresent(Bool.self, forKey: .pinned)
    archived = try container.decodeIfPresent(Bool.self, forKey: .archived)
    markedUnread = try container.decodeIfPresent(Bool.self, forKey: .markedUnread)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Keys.self)
    try container.encode(dialogId, forKey: .dialogId)
    try container.encode(notify, .notify)
    try container.encode(mutedUntil, .mutedUntil)
    try container.encodeIfPresent(pinned, forKey: .pinned)
    try container.encodeIfPresent(archived, forKey: .archived)
    try container.encodeIfPresent(markedUnread, forKey: .markedUnread)
  }
}

public struct UpdateDialogInput: Codable, Hashable, Sendable {
  public var dialogId: String
  /// `group` or `public`; absent leaves it, as with all that follows.
  public var type: String?
  public var name: Change<String>
  public var about: Change<String>
  public var topic: Change<String>
  public var metadata: Change<RawObject>
  /// A `DialogBody.HistoryVisibility`.
  public var historyVisibility: String?
  public var slowModeSeconds: Int?
  /// A `DialogBody.WhoPins`.
  public var whoPins: String?

  public init(
    dialogId: String, type: String? = nil, name: Change<String> = .keep, about: Change<String> = .keep,
    topic: Change<String> = .keep, metadata: Change<RawObject> = .keep, historyVisibility: String? = nil,
    slowModeSeconds: Int? = nil, whoPins: String? = nil
  ) {
    self.dialogId = dialogId
    self.type = type
    self.name = name
    self.about = about
    self.topic = topic
    self.metadata = metadata
    self.historyVisibility = historyVisibility
    self.slowModeSeconds = slowModeSeconds
    self.whoPins = whoPins
  }

  private enum Keys: String, CodingKey {
    case dialogId, type, name, about, topic, metadata, historyVisibility, slowModeSeconds, whoPins
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Keys.self)
    dialogId = try container.decode(String.self, forKey: .dialogId)
    type = try container.decodeIfPresent(String.self, forKey: .type)
    name = try container.change(.name)
    about = try container.change(.about)
    topic = try container.change(.topic)
    metadata = try container.change(.metadata)
    historyVisibility = try container.decodeIfPresent(String.self, forKey: .historyVisibility)
    slowModeSeconds = try container.decodeIfPresent(Int.self, forKey: .slowModeSeconds)
    whoPins = try container.decodeIfPresent(String.self, forKey: .whoPins)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Keys.self)
    try container.encode(dialogId, forKey: .dialogId)
    try container.encodeIfPresent(type, forKey: .type)
    try container.encode(name, .name)
    try container.encode(about, .about)
    try container.encode(topic, .topic)
    try container.encode(metadata, .metadata)
    try container.encodeIfPresent(historyVisibility, forKey: .historyVisibility)
    try container.encodeIfPresent(slowModeSeconds, forKey: .slowModeSeconds)
    try container.encodeIfPresent(whoPins, forKey: .whoPins)
  }
}

public struct DeleteDialogInput: Codable, Hashable, Sendable {
  public var dialogId: String
  /// `everyone`: nobody has it any more; `me`: the caller's list has not, and its history is cleared for them.
  public var whom: String
  /// For those who were in it.
  public var reason: String?
  public init(dialogId: String, whom: String, reason: String? = nil) {
    self.dialogId = dialogId
    self.whom = whom
    self.reason = reason
  }
  private enum CodingKeys: String, CodingKey {
    case dialogId, reason
    case whom = "for"
  }
}

public struct ListMembersInput: Codable, Hashable, Sendable {
  public var dialogId: String
  /// A `MemberBody.Role`; absent: everybody who is not banned.
  public var role: String?
  public var cursor: String?
  public var limit: Int?
  public init(dialogId: String, role: String? = nil, cursor: String? = nil, limit: Int? = nil) {
    self.dialogId = dialogId
    self.role = role
    self.cursor = cursor
    self.limit = limit
  }
}

public struct PutMemberInput: Codable, Hashable, Sendable {
  public var dialogId: String
  /// A `User.id`, or `me`.
  public var userId: String
  /// A `MemberBody.Role`; absent: who is no member becomes one.
  public var role: String?
  /// What they are called in this dialog.
  public var nick: String?
  public var reason: String?
  public init(
    dialogId: String, userId: String, role: String? = nil, nick: String? = nil, reason: String? = nil
  ) {
    self.dialogId = dialogId
    self.userId = userId
    self.role = role
    self.nick = nick
    self.reason = reason
  }
}

public struct RemoveMemberInput: Codable, Hashable, Sendable {
  public var dialogId: String
  /// A `User.id`, or `me`.
  public var userId: String
  public var reason: String?
  public init(dialogId: String, userId: String, reason: String? = nil) {
    self.dialogId = dialogId
    self.userId = userId
    self.reason = reason
  }
}

public struct DialogInput: Codable, Hashable, Sendable {
  public var dialogId: String
  public init(dialogId: String) { self.dialogId = dialogId }
}

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

public struct TypingInput: Codable, Hashable, Sendable {
  public var dialogId: String
  public var on: Bool
  public init(dialogId: String, on: Bool) {
    self.dialogId = dialogId
    self.on = on
  }
}

public struct SetPresenceInput: Codable, Hashable, Sendable {
  public var availability: PresenceBody.Availability
  public var status: String?
  /// The dialog that the user looks at; absent: none.
  public var activeDialogId: String?
  public init(availability: PresenceBody.Availability, status: String? = nil, activeDialogId: String? = nil) {
    self.availability = availability
    self.status = status
    self.activeDialogId = activeDialogId
  }
}

public struct SyncInput: Codable, Hashable, Sendable {
  public var cursor: String?
  public var limit: Int?
  /// Seconds to wait for the first event, 0 to 30.
  public var wait: Int?
  public init(cursor: String? = nil, limit: Int? = nil, wait: Int? = nil) {
    self.cursor = cursor
    self.limit = limit
    self.wait = wait
  }
}

public struct HelloInput: Codable, Hashable, Sendable {
  public var token: String
  /// The last durable cursor that the client holds; absent: nothing is replayed.
  public var cursor: String?
  public var deviceId: String?
  public init(token: String, cursor: String? = nil, deviceId: String? = nil) {
    self.token = token
    self.cursor = cursor
    self.deviceId = deviceId
  }
}

public struct AckInput: Codable, Hashable, Sendable {
  /// Everything up to here has arrived.
  public var cursor: String
  public init(cursor: String) { self.cursor = cursor }
}
