import Basics
import JSON

/// A dialog to open: a private dialog has `userId` alone; a group or public one everything else.
struct OpenDialogInput: Decodable, Hashable, Sendable {
  struct NewMember: Decodable, Hashable, Sendable {
    var userId: String
    /// `owner`, `admin`, `member` or `watcher`; absent for `member`.
    var role: String?
  }

  /// A `DialogBody.Kind`.
  var type: String
  var userId: String?
  var name: String?
  var about: String?
  var topic: String?
  var metadata: RawObject?
  /// Ordinary members besides the caller, who is the owner.
  var memberIds: [String]?
  /// Members with other roles.
  var members: [NewMember]?
  /// A `DialogBody.HistoryVisibility`; absent for `all`.
  var historyVisibility: String?
  /// The caller's own id of it: one dialog is created for each. The ids of other users and of the backend are in other namespaces.
  var externalId: String?
}

struct ListDialogsInput: Decodable, Hashable, Sendable {
  /// `mine` or `public`; absent for `mine`.
  var scope: String?
  /// The `DialogBody.Kind` of the caller's dialogs.
  var type: String?
  /// Whether the caller's dialogs are archived; absent for both. The same for `pinned`.
  var archived: Bool?
  var pinned: Bool?
  /// Whether there are unread messages, or the dialog is marked as unread.
  var unread: Bool?
  /// A part of the name, or the beginning of the address; of a private dialog, those of the other user.
  var query: String?
  var cursor: String?
  var limit: Int?
}

struct UpdateSettingsInput: Decodable, Hashable, Sendable {
  var dialogId: String
  /// A `DialogSettingsBody.Notify`; absent leaves it unchanged, as with all that follow, null for the default.
  var notify: Change<String> = .keep
  /// The end of muting; null, or a past time, ends it.
  var mutedUntil: Change<Timestamp> = .keep
  var pinned: Bool?
  var archived: Bool?
  var markedUnread: Bool?
  /// The days after which messages go from the caller's view; null: they stay.
  var retentionDays: Change<Int> = .keep
}

struct UpdateDialogInput: Decodable, Hashable, Sendable {
  var dialogId: String
  /// `group` or `public`; absent leaves it unchanged, as with all that follow.
  var type: String?
  var name: Change<String> = .keep
  var about: Change<String> = .keep
  var topic: Change<String> = .keep
  var metadata: Change<RawObject> = .keep
  /// The settings of its owners, which are members here (`RoomSetting.all`).
  var settings = RoomSettingsInput()
}

struct DeleteDialogInput: Decodable, Hashable, Sendable {
  var dialogId: String
  /// `everyone` destroys the dialog; `me` removes it from the caller's list and clears its history for them.
  var whom: String
  /// The reason for its members.
  var reason: String?
  private enum CodingKeys: String, CodingKey {
    case dialogId, reason
    case whom = "for"
  }
}

struct ListMembersInput: Decodable, Hashable, Sendable {
  var dialogId: String
  /// A `MemberBody.Role`; absent for everyone but outcasts.
  var role: String?
  var cursor: String?
  var limit: Int?
}

struct PutMemberInput: Decodable, Hashable, Sendable {
  var dialogId: String
  /// A `User.id`, or `me`.
  var userId: String
  /// A `MemberBody.Role`; if absent, a non-member becomes a member.
  var role: String?
  /// The nick in this dialog.
  var nick: String?
  var reason: String?
}

struct RemoveMemberInput: Decodable, Hashable, Sendable {
  var dialogId: String
  /// A `User.id`, or `me`.
  var userId: String
  var reason: String?
}

struct DialogInput: Decodable, Hashable, Sendable {
  var dialogId: String
}

struct ListPinsInput: Decodable, Hashable, Sendable {
  var dialogId: String
  var cursor: String?
}
