public import Addresses

/// One line of a user's inbox (XEP-0430): a dialog or room with what was said last and how much of it
/// is unread.
public struct Conversation: Sendable {
  /// The other user, the room, or the user themself.
  public let chat: BareJID
  /// nil: a private dialog.
  public let room: DialogID?
  /// Messages that count and that the user has not read (`Mark.unread`).
  public let unread: Int64
  /// The last entry of it in the user's archive, or in the room's.
  public let last: Position
  public let lastID: PublicID
  /// By what the inbox is ordered, and paged: of the last archived message that is shown; of the last
  /// entry where none is.
  public let activity: Position
  public let activityID: PublicID
  /// That message; nil: there is none, or it was not asked for.
  public let message: Entry?

  public init(
    chat: BareJID, room: DialogID?, unread: Int64, last: Position, lastID: PublicID, activity: Position,
    activityID: PublicID, message: Entry?
  ) {
    self.chat = chat
    self.room = room
    self.unread = unread
    self.last = last
    self.lastID = lastID
    self.activity = activity
    self.activityID = activityID
    self.message = message
  }
}

/// Which of a user's conversations are wanted.
public struct ConversationQuery: Hashable, Sendable {
  /// Activity strictly behind, strictly before.
  public var after = Position.zero
  public var before = Position.end
  /// The oldest of these instead of the newest.
  public var oldest = false
  public var unreadOnly = false
  public var withMessages = true
  public var limit: Int

  public init(limit: Int) { self.limit = limit }
}

public struct ConversationPage: Sendable {
  /// The liveliest first.
  public var conversations: [Conversation]
  /// Nothing more in the direction of paging.
  public var complete: Bool
  /// Of all conversations, whatever the page: how many there are, in how many something is unread, and how
  /// many messages that is.
  public var total: Int64
  public var unreadConversations: Int64
  public var unread: Int64

  public init(
    conversations: [Conversation], complete: Bool, total: Int64, unreadConversations: Int64, unread: Int64
  ) {
    self.conversations = conversations
    self.complete = complete
    self.total = total
    self.unreadConversations = unreadConversations
    self.unread = unread
  }
}
