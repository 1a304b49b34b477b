// Who may read. Theory:
//
// A query of the store for messages, for the members of a room or for a file takes a value of this folder, and only the
// core can make these values: a query without a decision does not compile. One function decides for each kind of thing:
//
//   RoomAccess(of:for:as:)       a group or public dialog: nothing, its existence, or its messages behind a position
//   PrivateDialog.access(for:)   a private dialog: its two users read it
//   LogAccess                    what a user's sessions follow: their own record, and their rooms from where they joined
//   MemberAccess                 the members of a room, and whether by address
//   PresenceAccess               whether a user is online, and when they were last
//   FileAccess                   a stored file
//   LogReader.entry(_:in:sentTo:)  what a session of a user was sent already, to be sent again
//
// Doors ask for a decision and render what the store then returns. Within one dialog the decision also names the
// viewer: the store leaves out the messages that they have deleted for themselves.
//
// A query that the server makes on its own behalf says so and why: `.server(_, reason)`. Searching for `.server(` finds
// all of them.

/// A purpose for which the server reads without a user.
public enum ServerReason: Sendable {
  /// The judge decides about a post, in the transaction that stores it.
  case rules
  /// A push service is told what a user has missed.
  case pushes
  /// An app's backend is told what has happened in its realm.
  case hooks
  /// A deleted user's messages are taken back.
  case erasure
  /// An operator reads.
  case administration
}

/// The decision that the messages of one dialog or room may be read.
public struct MessageAccess: Hashable, Sendable {
  public let dialog: DialogID
  /// The user who reads: messages that they have deleted for themselves are left out. `nil` for the server.
  public let viewer: UserID?
  /// The position behind which the viewer may read; earlier messages do not exist for them.
  public let behind: Position

  init(_ dialog: DialogID, for viewer: UserID?, behind: Position = .zero) {
    self.dialog = dialog
    self.viewer = viewer
    self.behind = behind
  }

  /// Returns the access of the server itself to all messages of a dialog.
  public static func server(_ dialog: DialogID, _: ServerReason) -> MessageAccess { MessageAccess(dialog, for: nil) }
}

extension Dialog {
  /// Returns the user's access to a private dialog; `nil` if they are not in it.
  public func messages(for user: UserID) -> MessageAccess? { PrivateDialog(self).access(for: user)?.messages }
}

extension LogReader {
  /// Returns an entry that a session of this user was sent, to be sent to it again (XEP-0198 5); `nil` if it was removed,
  /// or if the user has deleted it for themselves.
  public func entry(_ position: Position, in dialog: DialogID, sentTo user: UserID) throws -> Entry? {
    try entry(position, in: MessageAccess(dialog, for: user))
  }
}

/// The part of a private dialog that never changes: its two users, who may read it.
public struct PrivateDialog: Hashable, Sendable {
  public let id: DialogID
  private let first: Party
  private let second: Party

  public init(_ dialog: Dialog) { (id, first, second) = (dialog.id, dialog.first, dialog.second) }

  /// The bytes of its addresses in memory.
  package var heldBytes: Int { first.heldBytes + second.heldBytes }

  /// Returns the user's access and the other user, who is the same in a dialog with oneself; `nil` if they are not in
  /// it.
  public func access(for user: UserID) -> (messages: MessageAccess, peer: Party)? {
    if first.id == user { return (MessageAccess(id, for: user), second) }
    if second.id == user { return (MessageAccess(id, for: user), first) }
    return nil
  }
}

/// A message that a user may read, with the decisions about its earlier versions and its receipts.
public struct ReadableMessage: Sendable {
  public let entry: Entry
  /// Whether they may read earlier versions: the author may, and in a room its admins.
  public let showsEdits: Bool
  /// Whether they may see who has received and read it: in larger rooms only the author may.
  public let showsReceipts: Bool

  /// - Parameter room: the room of the message; `nil` for a private dialog.
  init(_ entry: Entry, for viewer: UserID, in room: ReadableRoom?) {
    self.entry = entry
    let isAuthor = entry.author.id == viewer
    showsEdits = isAuthor || room?.member.map { $0.affiliation >= .admin } ?? false
    showsReceipts = isAuthor || room?.showsMarkers ?? true
  }

  /// The access to earlier versions; `nil` if they may not read them.
  public var edits: EditAccess? { showsEdits ? EditAccess(message: entry.position) : nil }
}

/// The decision that the earlier versions of a message may be read.
public struct EditAccess: Hashable, Sendable {
  public let message: Position
  init(message: Position) { self.message = message }
  public static func server(_ message: Position, _: ServerReason) -> EditAccess { EditAccess(message: message) }
}

extension Reference {
  /// Returns whether a user may read the message that this changes: they have not deleted it for themselves, and it is
  /// not from before they joined a room whose history begins there.
  ///
  /// - Parameter since: the position at which the user joined the room; `nil` if they are no member, or it is no room.
  public func isReadable(for user: UserID, since: Position?) -> Bool {
    if hiddenFrom.contains(user) { return false }
    return !isSinceJoin || target > since ?? .end
  }
}
