public import Basics

/// Reads dialogs, marks and the log.
public protocol LogReader {
  /// Returns the last assigned position, and the time of the last entry.
  func head() throws -> (position: Position, time: Timestamp)
  /// Returns the position of the last entry before this time that still exists; `.zero` if there is none.
  func position(before time: Timestamp) throws -> Position
  /// Returns the last entry of a conversation (`Fact.Kind.isOfConversation`), except notices with which rooms begin;
  /// position and time are 0 if there is none.
  func endOfConversations() throws -> (position: Position, time: Timestamp)
  /// Returns whether an entry of a conversation (`endOfConversations`) is behind a position.
  func hasConversation(behind position: Position) throws -> Bool
  /// Returns the dialog or room that was created last; 0 if there is none.
  func lastDialog() throws -> DialogID
  func dialog(_ id: DialogID) throws -> Dialog?
  /// Returns the private dialog of two users, or the self dialog if they are the same.
  func dialog(between a: UserID, and b: UserID) throws -> Dialog?
  /// Returns the dialog of two occupants' private messages in a room. `dialog(_:)` and lists do not return it.
  func whispers(between a: UserID, and b: UserID, in room: DialogID) throws -> Dialog?
  /// Returns the user's private dialogs (and the self dialog once it contains a message) with `shown` < `before`, newest
  /// first. Rooms are not among them.
  func dialogs(of log: LogAccess, before: Position, limit: Int) throws -> [DialogView]
  func mark(_ user: UserID, in dialog: DialogID) throws -> Mark?
  /// Returns the user's settings of a dialog or room; `nil` if they do not belong to it.
  func settings(of user: UserID, in dialog: DialogID) throws -> DialogSettings?
  /// Returns the user's settings of all dialogs and rooms where any were set.
  func settings(of user: UserID) throws -> [DialogID: DialogSettings]
  /// Returns the user's displayed marks, the last changed one first.
  func displayed(by user: UserID, limit: Int) throws -> [DisplayedMark]
  /// Returns the user's private dialogs and rooms with archived entries, the most recently active first, with their
  /// unread messages.
  func conversations(of log: LogAccess, _ query: ConversationQuery) throws -> ConversationPage
  /// Returns the sum of unread messages over all dialogs and rooms of the user.
  func unread(of user: UserID) throws -> Int64
  /// Returns the number of unread messages that mention the user (`setMentioned`), in this dialog or room or, with `nil`, in
  /// all of the user's. It counts at most `Limits.mentionsCountedMax` of a dialog, and of all dialogs together at most
  /// `Limits.mentionLooksMax`.
  func mentions(of user: UserID, in dialog: DialogID?) throws -> Int64
  /// Returns messages with sequence > 0. Of the query only the bounds of positions, rows and bytes, the limit and the direction are
  /// considered.
  func history(of messages: MessageAccess, _ query: ArchiveQuery) throws -> ArchivePage
  /// Returns `Dialog.shown` or `Room.shown`, at the cost of one look; `.zero` for an unknown dialog.
  func shown(in dialog: DialogID) throws -> Position
  /// Returns an entry. Entries that are read have the state of their message (`Entry.state`).
  func entry(_ position: Position, in messages: MessageAccess) throws -> Entry?
  /// Returns the entries of a dialog or room at these positions, shown or not, ascending.
  func entries(of messages: MessageAccess, at positions: ClosedRange<Position>, limit: Int) throws -> [Entry]
  /// Returns whether there is an entry at this position, in this dialog or, if it is `nil`, in any. The entry of an
  /// assigned position may have been removed: a marker that a later one replaced, a transient message.
  func hasEntry(at position: Position, in dialog: DialogID?) throws -> Bool
  /// Returns the user's archive (XEP-0313): entries with trait `archived`. With a text, only messages whose words
  /// include all of its words, ignoring case, accents and width; words written together in the text must be together in
  /// the message. In scripts without spaces any part matches. Retracted and encrypted messages do not match.
  func archive(of log: LogAccess, _ query: ArchiveQuery) throws -> ArchivePage
  /// Returns a page of the inbound messages with trait `replayed`, ascending. Of the query only the bounds of positions, rows and bytes
  /// and the limit are considered.
  func replay(of log: LogAccess, _ query: ArchiveQuery) throws -> ArchivePage
  /// Returns a page as `replay`, of messages that the user's archive does not contain.
  func unarchived(of log: LogAccess, _ query: ArchiveQuery) throws -> ArchivePage
  /// Returns the number of counting messages of the dialog or room up to and including `position`: in total, and by
  /// `author`. In a room `own` is counted from the member's mark, and may be negative before they joined.
  /// - Parameter looksMax: The number of a room's entries that are examined from the mark on, and again from `position` on if the
  ///   first search does not reach `position`. If the second one does not reach the end either, `own` is estimated as all messages by
  ///   the author minus those found there; then later own messages count as unread until the member has read the last message.
  func counting(
    in dialog: DialogID, upTo position: Position, by author: UserID, looksMax: Int
  ) throws -> (all: Int64, own: Int64)
  /// Returns the number of counting messages of the dialog or room up to and including `position`, at the cost of one look.
  func ordinal(in dialog: DialogID, upTo position: Position) throws -> Int64
  /// Returns the room's history (XEP-0045 7.2.13) and archive (XEP-0313): messages with trait `archived`, and topics.
  func archive(of room: MessageAccess, _ query: ArchiveQuery) throws -> ArchivePage
  /// Returns the places of everything that the user's clients follow: messages, markers, contact, block and profile changes,
  /// behind `after`, ascending, merged with everything of the log's rooms behind both `after` and each room's own position.
  /// A superseded marker is omitted. An entry that is both in a room and in the user's feed is returned as one of the feed.
  /// - Parameters:
  ///   - limit: The number of places, at least one.
  ///   - looksMax: The number of rows that are examined, apart from one of each room; then the search ends, and `end` is the last
  ///     examined position, which is behind `after`.
  ///   - all: Whether to include entries that app clients do not get (`FeedRow.Traits.unfollowed`).
  func feed(of log: LogAccess, after: Position, limit: Int, looksMax: Int, all: Bool) throws -> FeedPlaces
  /// Returns the entries at such places that still exist, in order. The list ends with the entry by which it exceeds so many bytes
  /// (`Entry.byteCount`).
  func entries(
    of log: LogAccess, at places: ArraySlice<FeedPlaces.Place>, limit: Int, bytesMax: Int
  ) throws -> [Entry]
}

/// Variants without a bound of bytes, for a few entries, and for the server's own work.
extension LogReader {
  /// Returns the entries of one page of `history`, newest first unless `ascending`. There may be fewer, or none, if the page ends
  /// after `looksMax` rows.
  public func history(
    of messages: MessageAccess, after: Position, before: Position, limit: Int, ascending: Bool,
    looksMax: Int = Limits.archiveLooksMax
  ) throws -> [Entry] {
    var query = ArchiveQuery(limit: limit)
    query.after = after
    query.before = before
    query.backwards = !ascending
    query.looksMax = looksMax
    let entries = try history(of: messages, query).entries
    return ascending ? entries : entries.reversed()
  }
  public func replay(
    of log: LogAccess, after: Position, limit: Int, looksMax: Int = Limits.archiveLooksMax
  ) throws -> [Entry] {
    var query = ArchiveQuery(limit: limit)
    query.after = after
    query.looksMax = looksMax
    return try replay(of: log, query).entries
  }
  public func feed(of log: LogAccess, after: Position, limit: Int, all: Bool) throws -> [Entry] {
    let found = try feed(of: log, after: after, limit: limit, looksMax: .max, all: all)
    return try entries(of: log, at: found.places[...], limit: limit, bytesMax: .max)
  }
}

/// The growth of the log, additions minus removals: the number of entries other than messages, and the bytes of their content.
public struct LogGrowth: Hashable, Sendable {
  public var entries: Int64 = 0
  public var bytes: Int64 = 0

  public init() {}
}

/// Changes dialogs, marks and the log.
public protocol LogWriter {
  /// The growth of the log by all transactions of this writer, including those rolled back. The difference of two values
  /// within a transaction is the growth between them.
  var growth: LogGrowth { get }
  /// Stores entry, payload and the rows of `feeds`. Every entry of a room, except a marker with feed rows, is also
  /// added to the room's own list, which its members follow.
  func insert(_ entry: Entry, feeds: [FeedRow], key: RepeatKey?) throws
  /// Returns the last message with this `RepeatKey.id` by this author in this dialog, with its body hash. Only the writer
  /// has it, since repeats are detected inside the write transaction, which sees the newest ids.
  func find(_ id: String, by author: UserID, in dialog: DialogID) throws -> (position: Position, bodyHash: UInt64)?
  func insert(dialog kind: Dialog.Kind, first: Party, second: Party, createdAt: Timestamp) throws -> Dialog
  /// Creates the dialog of two occupants' private messages, which has no marks.
  func insertWhispers(between first: Party, and second: Party, in room: RoomName, createdAt: Timestamp) throws -> Dialog
  /// Updates sequence, ordinal and last.
  func update(_ dialog: Dialog) throws
  /// Replaces a mark. The entry at its previous position (`superseded`, `.zero` if there is none) is removed, with its
  /// feed rows.
  func put(_ mark: Mark, superseded: Position) throws
  /// Stores settings; does nothing if the user does not belong to the dialog.
  func put(_ settings: DialogSettings, of user: UserID, in dialog: DialogID) throws
  /// Stores the state of a message. With a retraction its text, fields and extras are overwritten; envelope, time and
  /// sequence remain. The content of its corrections is overwritten too: each becomes a tombstone of the same
  /// retraction.
  func put(_ state: MessageState, of position: Position, in dialog: DialogID) throws
  /// Replaces the users whose mention counter this message increments. Ignored unless the message has the trait
  /// `counts`.
  func setMentioned(_ users: [UserID], by position: Position, in dialog: DialogID) throws
  /// Adds messages to the full-text index (`ArchiveQuery.text`): reads further entries in the order of the log, messages or not, until
  /// there are `limit` of them or their texts have `bytes` bytes. Returns `true` if there may be more.
  func indexMessages(limit: Int, bytes: Int) throws -> Bool
  /// Assigns a position without an entry (a mark that no archive contains).
  func setHead(_ position: Position, time: Timestamp) throws
  /// Sets the time of the entries behind a position, up to `last`, that are later than `time`. None of them may be of a
  /// conversation (`endOfConversations`), and earlier entries must not be later, since time never decreases with position.
  func setTimes(behind position: Position, through last: Position, to time: Timestamp) throws
  /// Deletes payload and feed rows of a transient message.
  func erase(_ position: Position, in dialog: DialogID) throws
}

/// A row of a user's feed: a reference to an entry with its traits for this user.
public struct FeedRow: Hashable, Sendable {
  public let user: UserID
  public let traits: Traits
  /// The stored traits: never renumber the bits.
  public struct Traits: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// In the personal archive.
    public static let archived = Traits(rawValue: 1)
    /// From another user.
    public static let inbound = Traits(rawValue: 2)
    /// To be replayed to clients without archive.
    public static let replayed = Traits(rawValue: 4)
    /// A marker: the row represents the member's current mark.
    public static let mark = Traits(rawValue: 8)
    /// Only in the archive, not an event for app clients.
    public static let unfollowed = Traits(rawValue: 16)
  }
  public init(user: UserID, traits: Traits) {
    self.user = user
    self.traits = traits
  }

  /// Returns the row of a user; none for a remote one, as only local users have feeds.
  static func rows(of user: Party, _ traits: Traits) -> [FeedRow] {
    user.realm.isRemote ? [] : [FeedRow(user: user.id, traits: traits)]
  }
}

/// A query of an archive (XEP-0313 4.1 with `#extended`), resolved to positions by the core.
///
///     var query = ArchiveQuery(limit: 50)
///     query.backwards = true  // the newest ones
///     let page = try await parley.read { [query] in try $0.archive(of: .own(user), query) }
public struct ArchiveQuery: Sendable {
  /// The private dialog, or in a room the dialog of private messages; `nil` for all.
  public var with: DialogID?
  /// The other user's resource; for a private message in a room their nick at that time.
  public var withResource: String?
  public var start: Timestamp?
  public var end: Timestamp?
  /// The exclusive bounds of the positions.
  public var after: Position = .zero
  public var before: Position = .end
  /// Exactly these positions, in log order; overrides the range.
  public var positions: [Position]?
  /// The words that messages must contain in their last edited version (`LogReader.archive` defines the comparison); `nil`
  /// for all messages. Not with `positions`.
  public var text: String?
  public var limit: Int
  /// The bytes of entries after which the page ends early, with at least one entry.
  public var bytesMax = Int.max
  /// The number of examined rows, matching or not, after which the page ends early, even without an entry. At least one; with
  /// `text` no more than `Limits.searchLooksMax`, and `Limits.searchIndexLooksMax` in the index.
  public var looksMax = Limits.archiveLooksMax
  /// Whether to return the page that ends at `before`, still in ascending order (RSM `<before/>`).
  public var backwards = false
  /// With `positions`: whether entries are included that the user has deleted for themselves or may not read.
  public var includesHidden = false

  public init(limit: Int) { self.limit = limit }

  /// Continues behind a position in the direction of paging.
  public mutating func go(behind position: Position) {
    if backwards { before = min(before, position) } else { after = max(after, position) }
  }
}

public struct ArchivePage: Sendable {
  /// The entries, ascending by position.
  public var entries: [Entry]
  /// Whether no entries follow in the direction of paging.
  public var complete: Bool
  /// The last examined position, if the page ended early by `ArchiveQuery.looksMax`: the next page begins behind it in the direction
  /// of paging. It need not be the position of an entry of this archive.
  public var next: Position?
  public init(entries: [Entry], complete: Bool, next: Position? = nil) {
    self.entries = entries
    self.complete = complete
    self.next = next
  }
}
