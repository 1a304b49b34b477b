public import Addresses

/// An item of a user's inbox (XEP-0430): a dialog or room with its last message and the number of unread ones.
public struct Conversation: Sendable {
  /// The other user, the room, or the user's own address.
  public let chat: BareJID
  public let dialog: DialogID
  /// Whether the conversation is a room's; otherwise it is a private dialog.
  public let isRoom: Bool
  /// The number of unread messages (`Mark.unread`).
  public let unread: Int64
  /// The conversation's last entry in the user's archive, or in the room's.
  public let last: Position
  public let lastID: PublicID
  /// The position by which the inbox is ordered and paged: that of the last archived message that is shown, or of the
  /// last entry if there is none.
  public let activity: Position
  public let activityID: PublicID
  /// The position of that message; `nil` if there is none.
  public let said: Position?

  public init(
    chat: BareJID, dialog: DialogID, isRoom: Bool, unread: Int64, last: Position, lastID: PublicID,
    activity: Position, activityID: PublicID, said: Position?
  ) {
    self.chat = chat
    self.dialog = dialog
    self.isRoom = isRoom
    self.unread = unread
    self.last = last
    self.lastID = lastID
    self.activity = activity
    self.activityID = activityID
    self.said = said
  }
}

/// A query for a user's conversations.
public struct ConversationQuery: Hashable, Sendable {
  /// The exclusive bounds of the activity.
  public var after = Position.zero
  public var before = Position.end
  /// Whether the oldest of these are wanted instead of the newest.
  public var oldest = false
  public var unreadOnly = false
  public var limit: Int

  public init(limit: Int) { self.limit = limit }
}

public struct ConversationPage: Sendable {
  /// The conversations, the most recently active first.
  public var conversations: [Conversation]
  /// Whether there is nothing more in the direction of paging.
  public var complete: Bool
  /// The numbers of all conversations on any page, of those with unread messages, and of unread messages.
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
