import Basics
import Dialogs

/// Writes the log, inside the one transaction of a batch.
final class Writer: Reader, @unchecked Sendable {  // used only by the one that has borrowed its connection, as `Reader`
  /// The ids of the last messages, loaded in the first transaction.
  var origins = OriginGenerations(start: 0, span: 1, slice: 1)
  var filter = OriginFilter(ids: 0)
  private var hasOrigins = false
  /// Whether commits sync the log, as they do when the store is opened.
  private var syncs = true
  /// Whether an earlier commit was not synced, and the number of rows changed on this connection before the transaction.
  private var owesSync = false
  private var changedBefore: Int64 = 0
  var growth = LogGrowth()
  let freshSpan: Int64

  init(_ connection: Connection, _ directory: Directory, freshSpan: Int64) {
    self.freshSpan = freshSpan
    super.init(connection, directory)
  }

  var changedRows: Int64 { connection.changedRows }

  /// Begins a transaction.
  ///
  /// - Parameter synced: Whether the commit syncs the log, and with it all earlier commits.
  func beginWriting(synced: Bool) throws(StoreFailure) {
    if synced != syncs {
      try connection.execute("PRAGMA synchronous = \(synced ? "FULL" : "NORMAL")")
      syncs = synced
    }
    changedBefore = connection.changedRows
    try connection(.beginWriting).run()
  }

  /// Loads the ids; called inside the transaction.
  func prepare() throws {
    guard !hasOrigins else { return }
    let end = try originsEnd()
    origins = try loadOrigins(behind: end)
    filter = OriginFilter(ids: end)
    hasOrigins = true
  }

  override func commit() throws(StoreFailure) {
    try super.commit()
    origins.settle()
    // The engine does not sync for a transaction without changes.
    if syncs, owesSync, connection.changedRows == changedBefore { try connection.syncLog() }
    owesSync = !syncs
  }

  // MARK: Entries

  func insert(_ entry: Entry, feeds: [FeedRow], key: RepeatKey?) throws {
    try check(stored: entry.author.id)
    try insertPayload(entry, key)
    try moveOrigins(entry.position)
    switch entry.fact {
    case .message, .room, .call: try insertEntry(entry, feeds)
    // Members of a room follow its entries, so a marker that only the reader may see must not be among them.
    case .marker: if entry.room == nil || feeds.isEmpty { try insertEntry(entry, feeds) }
    case .contact, .contactGroup, .blocks, .profile, .dialogOpened, .invitation, .node, .settings, .perUser, .draft,
      .scheduledMessage, .notification, .undelivered:
      break
    }
    if let key { try insertOrigins(entry, key, stanzaID: entry.fact.stanza?.envelope.id) }
    if case .message(let message) = entry.fact, let reference = message.reference, reference.changes {
      try insertChange(entry.position, of: reference.target, isEdit: reference.kind == .correction)
    }
    let feed = try connection(.insertFeed)
    for row in feeds {
      try feed.bind(row.user, entry.position, row.traits.rawValue).run()
    }
  }

  /// Inserts a row of `entries`. Each has the counts up to and including itself, so that the counts at any position are one
  /// read.
  private func insertEntry(_ entry: Entry, _ feeds: [FeedRow]) throws {
    let counts = entry.fact.counts
    let before = try connection(.counts, entry.dialog).first { (all: $0.int(0), own: $0.int(1)) }
    var flags: EntryFlags = []
    if entry.fact.isShown { flags.insert(.shown) }
    if counts { flags.insert(.counts) }
    let own: Int64
    switch entry.place {
    case .peer(let peer), .whisper(let peer, _, _):
      let first = min(entry.author.id, peer.id)
      for row in feeds where row.traits.contains(.archived) {
        if row.user == first { flags.insert(.firstArchived) } else { flags.insert(.secondArchived) }
      }
      own = (before?.own ?? 0) + (counts && entry.author.id == first ? 1 : 0)
    case .room:
      if Self.isInArchive(entry.fact) { flags.insert(.firstArchived) }
      own = counts ? entry.author.id.number : 0
    }
    try connection(
      .insertEntry, entry.dialog, entry.position, flags.rawValue, (before?.all ?? 0) + (counts ? 1 : 0), own
    ).run()
  }

  /// Returns whether a fact is in a room's archive.
  private static func isInArchive(_ fact: Fact) -> Bool {
    switch fact {
    case .message(let message): message.traits.contains(.archived)
    case .room(let change): if case .topic = change.change { true } else { false }
    case .marker, .contact, .contactGroup, .blocks, .profile, .dialogOpened, .invitation, .node, .settings, .perUser,
      .draft,
      .scheduledMessage, .call, .notification, .undelivered:
      false
    }
  }

  func setHead(_ position: Position, time: Timestamp) throws {
    try connection(.setHead, position, time).run()
  }

  func setTimes(behind position: Position, through last: Position, to time: Timestamp) throws {
    try connection(.setTimes, position, last, time).run()
  }

  func erase(_ position: Position, in dialog: DialogID) throws {
    guard try remove(position, in: dialog) else { return }
    // The row is kept for its counts.
    try connection(.blankEntry, dialog, position).run()
  }

  /// Removes payload, feed rows and origins. Returns `false` if there is no such entry. In a room only markers have
  /// feed rows and are removed, and those are their author's.
  func remove(_ position: Position, in dialog: DialogID) throws -> Bool {
    let found = try connection(.traces, position, dialog).first {
      (
        author: UserID($0.int(0)), peer: UserID($0.int(1)), time: Timestamp(milliseconds: $0.int(2)),
        stanzaID: $0.textOrNil(3), keyID: $0.textOrNil(4), hasKey: !$0.isNull(5), bytes: $0.int(6),
        kind: $0.int(7)
      )
    }
    guard let found else { return false }
    if found.kind != Int64(Fact.Kind.message.rawValue) {
      growth.entries -= 1
      growth.bytes -= found.bytes
    }
    try reindex(position, to: nil)
    // The position of a removed last payload must not be issued again.
    try setHead(position, time: found.time)
    for user in found.author == found.peer || found.peer == Self.noPeer ? [found.author] : [found.author, found.peer] {
      try connection(.deleteFeed, user, position).run()
    }
    if found.hasKey, let id = found.keyID ?? found.stanzaID {
      try removeOrigins(of: found.author, id, stanzaID: found.stanzaID, in: dialog, at: position)
    }
    try connection(.deletePayload, position).run()
    try connection(.deleteState, position).run()
    return true
  }

  /// Refuses the provisional id of a remote user without a row (`Party.isProvisional`), which changes with a restart.
  func check(stored user: UserID) throws {
    if user.number < 0 { throw StoreFailure.provisional(user.number) }
  }

  // MARK: Dialogs and marks

  func insert(dialog kind: Dialog.Kind, first: Party, second: Party, createdAt: Timestamp) throws -> Dialog {
    let (first, second) = first.id <= second.id ? (first, second) : (second, first)
    try check(stored: first.id)
    let id = try connection(.insertDialog, kind.rawValue, first.id, second.id, createdAt).first { DialogID($0.int(0)) }
    guard let id else { throw StoreFailure.corrupt("a new dialog got no number") }
    for user in first.id == second.id ? [first.id] : [first.id, second.id] {
      try connection(.insertMember, user, id).run()
    }
    return Dialog(id: id, kind: kind, first: first, second: second, createdAt: createdAt)
  }

  func insertWhispers(
    between first: Party, and second: Party, in room: RoomName, createdAt: Timestamp
  ) throws -> Dialog {
    let (first, second) = first.id <= second.id ? (first, second) : (second, first)
    try check(stored: first.id)
    let id = try connection(
      .insertWhispers, Dialog.Kind.whispered.rawValue, first.id, second.id, createdAt, room.dialog
    )
    .first { DialogID($0.int(0)) }
    guard let id else { throw StoreFailure.corrupt("a new dialog got no number") }
    return Dialog(id: id, kind: .whispered, first: first, second: second, createdAt: createdAt)
  }

  func update(_ dialog: Dialog) throws {
    try connection(.updateDialog, dialog.id, dialog.sequence, dialog.ordinal, dialog.last, dialog.shown).run()
  }

  func put(_ mark: Mark, superseded: Position) throws {
    try check(stored: mark.user)
    let own = try connection(.updateOwn, mark.dialog, mark.user, mark.own)
    try own.run()
    try connection(
      .updateMember, mark.user, mark.dialog, mark.delivered, mark.displayed, mark.displayedOrdinal, mark.ownAtDisplayed
    ).bind(mark.position, own.changes == 0 ? mark.own : 0, mark.hidden).run()
    if superseded > .zero, try remove(superseded, in: mark.dialog) {
      try connection(.deleteEntry, mark.dialog, superseded).run()
    }
  }
}

extension Query {
  fileprivate static let counts = Query(
    "SELECT ordinal, own FROM entries WHERE dialog = ?1 ORDER BY position DESC LIMIT 1")
  fileprivate static let insertEntry = Query(
    "INSERT INTO entries (dialog, position, flags, ordinal, own) VALUES (?1, ?2, ?3, ?4, ?5)")
  fileprivate static let blankEntry = Query(
    """
    UPDATE entries SET flags = (flags & \(EntryFlags.counts.rawValue)) | \(EntryFlags.erased.rawValue)
    WHERE dialog = ?1 AND position = ?2
    """)
  static let deleteEntry = Query("DELETE FROM entries WHERE dialog = ?1 AND position = ?2")
  fileprivate static let insertFeed = Query("INSERT INTO feed (user, position, traits) VALUES (?1, ?2, ?3)")
  static let deleteFeed = Query("DELETE FROM feed WHERE user = ?1 AND position = ?2")
  fileprivate static let traces = Query(
    """
    SELECT author, peer, time, stanza_id, key_id, key_hash,
      CASE kind WHEN \(Fact.Kind.message.rawValue) THEN 0 ELSE
        coalesce(length(detail), 0) + coalesce(length(extras), 0) + length(CAST(coalesce(text, '') AS BLOB))
        + length(CAST(coalesce(fields, '') AS BLOB)) + length(CAST(coalesce(stanza_id, '') AS BLOB))
        + length(CAST(coalesce(lang, '') AS BLOB)) END,
      kind
    FROM payloads WHERE position = ?1 AND dialog = ?2
    """)
  fileprivate static let deleteState = Query("DELETE FROM states WHERE position = ?1")
  fileprivate static let deletePayload = Query("DELETE FROM payloads WHERE position = ?1")
  fileprivate static let setHead = Query(
    "UPDATE log SET position = ?1, time = max(time, ?2) WHERE position < ?1")
  fileprivate static let setTimes = Query(
    "UPDATE payloads SET time = ?3 WHERE position > ?1 AND position <= ?2 AND time > ?3")

  fileprivate static let insertDialog = Query(
    """
    INSERT INTO dialogs (kind, first, second, sequence, ordinal, first_own, second_own, last, created)
    VALUES (?1, ?2, ?3, 0, 0, 0, 0, 0, ?4) RETURNING id
    """)
  fileprivate static let insertWhispers = Query(
    """
    INSERT INTO dialogs (kind, first, second, sequence, ordinal, first_own, second_own, last, created, via)
    VALUES (?1, ?2, ?3, 0, 0, 0, 0, 0, ?4, ?5) RETURNING id
    """)
  fileprivate static let insertMember = Query(
    """
    INSERT INTO members (user, dialog, delivered, displayed, displayed_ordinal, own_at_displayed, position)
    VALUES (?1, ?2, 0, 0, 0, 0, 0)
    """)
  static let updateDialog = Query(
    "UPDATE dialogs SET sequence = ?2, ordinal = ?3, last = ?4, shown = ?5 WHERE id = ?1")
  /// It changes only the row of a private dialog, not of a room.
  fileprivate static let updateOwn = Query(
    """
    UPDATE dialogs SET first_own = CASE first WHEN ?2 THEN ?3 ELSE first_own END,
      second_own = CASE second WHEN ?2 THEN ?3 ELSE second_own END
    WHERE id = ?1 AND kind < \(Reader.roomKind)
    """)
  /// A member's row is only written when it changes: a message of the member in a private dialog changes only the
  /// counts in the dialog's row.
  fileprivate static let updateMember = Query(
    """
    UPDATE members SET delivered = ?3, displayed = ?4, displayed_ordinal = ?5, own_at_displayed = ?6, position = ?7,
      own = ?8, hidden = ?9
    WHERE user = ?1 AND dialog = ?2
      AND (delivered <> ?3 OR displayed <> ?4 OR displayed_ordinal <> ?5 OR own_at_displayed <> ?6 OR position <> ?7
        OR own <> ?8 OR hidden <> ?9)
    """)
}
