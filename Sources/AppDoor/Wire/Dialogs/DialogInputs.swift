import Basics
import JSON

/// Of a private dialog `userId` alone; of a group or public one everything else.
struct OpenDialogInput: Decodable, Hashable, Sendable {
  struct NewMember: Decodable, Hashable, Sendable {
    var userId: String
    /// `owner`, `admin`, `member` or `watcher`; absent: `member`.
    var role: String?
  }

  /// A `DialogBody.Kind`.
  var type: String
  var userId: String?
  var name: String?
  var about: String?
  var topic: String?
  var metadata: RawObject?
  /// Ordinary members beside the caller, who is the owner.
  var memberIds: [String]?
  /// The same with other roles.
  var members: [NewMember]?
  /// A `DialogBody.HistoryVisibility`; absent: `all`.
  var historyVisibility: String?
  /// What the app's own backend calls it: a dialog is made once for each.
  var externalId: String?
}

struct ListDialogsInput: Decodable, Hashable, Sendable {
  /// `mine` or `public`; absent: `mine`.
  var scope: String?
  /// Of one's own, those of this `DialogBody.Kind`.
  var type: String?
  /// Of one's own, those that are, or are not; absent: both.
  var archived: Bool?
  var pinned: Bool?
  /// With unread messages, or marked as unread.
  var unread: Bool?
  /// Of public dialogs: a part of the name, or the beginning of the address.
  var query: String?
  var cursor: String?
  var limit: Int?
}

struct UpdateSettingsInput: Decodable, Hashable, Sendable {
  var dialogId: String
  /// A `DialogSettingsBody.Notify`; absent leaves it, as with all that follows, null: what is usual.
  var notify: Change<String> = .keep
  /// Null, and a time that has been: not muted.
  var mutedUntil: Change<Timestamp> = .keep
  var pinned: Bool?
  var archived: Bool?
  var markedUnread: Bool?
}

struct UpdateDialogInput: Decodable, Hashable, Sendable {
  var dialogId: String
  /// `group` or `public`; absent leaves it, as with all that follows.
  var type: String?
  var name: Change<String> = .keep
  var about: Change<String> = .keep
  var topic: Change<String> = .keep
  var metadata: Change<RawObject> = .keep
  /// A `DialogBody.HistoryVisibility`.
  var historyVisibility: String?
  var slowModeSeconds: Int?
  /// A `DialogBody.WhoPins`.
  var whoPins: String?
}

struct DeleteDialogInput: Decodable, Hashable, Sendable {
  var dialogId: String
  /// `everyone`: nobody has it any more; `me`: the caller's list has not, and its history is cleared for them.
  var whom: String
  /// For those who were in it.
  var reason: String?
  private enum CodingKeys: String, CodingKey {
    case dialogId, reason
    case whom = "for"
  }
}

struct ListMembersInput: Decodable, Hashable, Sendable {
  var dialogId: String
  /// A `MemberBody.Role`; absent: everybody who is not banned.
  var role: String?
  var cursor: String?
  var limit: Int?
}

struct PutMemberInput: Decodable, Hashable, Sendable {
  var dialogId: String
  /// A `User.id`, or `me`.
  var userId: String
  /// A `MemberBody.Role`; absent: who is no member becomes one.
  var role: String?
  /// What they are called in this dialog.
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
