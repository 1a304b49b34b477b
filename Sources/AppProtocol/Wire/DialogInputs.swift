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
