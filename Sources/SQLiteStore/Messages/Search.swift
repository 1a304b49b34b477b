import Dialogs

/// The full-text index of messages (XEP-0431). Writing it costs ten microseconds of CPU per message in batches of a
/// thousand, as much as all other work for a message, and many times that for a single message. So it is not written with
/// messages: before a search it is extended to the end of the log, a thousand messages at a time, or fewer long ones.
///
/// It has a row per message that is shown and has a text, under its position, which is the order of every answer. It
/// indexes the text that an app shows now: after the last edit, without retracted messages and ciphertext. `scope`
/// holds the owners: for a private dialog both users (`u12`) and the dialog (`d7`), for a whisper both users and the
/// room of the whisper (`w7`), for a room's message the room (`d7`).
extension Writer {
  func indexMessages(limit: Int, bytes: Int) throws -> Bool {
    let after = try indexedUpTo()
    // Every entry counts, since skipping many entries without indexed text takes time, too.
    var rows: [(position: Int64, text: String?, scope: String?)] = []
    var read = 0
    try connection(.unindexed, after, limit).forEachWhile { row in
      rows.append((row.int(0), row.textOrNil(1), row.textOrNil(2)))
      read += rows.last?.text?.utf8.count ?? 0
      return read < bytes
    }
    for row in rows {
      if let text = row.text, let scope = row.scope { try index(Position(row.position), scope: scope, text: text) }
    }
    let isFull = rows.count == limit || read >= bytes
    // Entries that are committed later have later positions.
    let end = isFull ? rows.last?.position ?? after : try head().position.number
    // A transaction that changes nothing costs no sync.
    if end > after { try connection(.setIndexed, end).run() }
    return isFull
  }

  private func indexedUpTo() throws -> Int64 { try connection(.indexedUpTo).first { $0.int(0) } ?? 0 }

  private func index(_ position: Position, scope: String, text: String) throws {
    let tokens = try searchText().tokens(of: text)
    try connection(.insertSearch, position, scope, tokens).run()
  }

  /// Indexes the new text of a message; with `nil` removes it. It is called before the message's state or payload is written.
  func reindex(_ position: Position, to text: String?) throws {
    // A message that is not indexed yet will be indexed later with its text of that time.
    if try position.number > indexedUpTo() { return }
    let found = try connection(.indexed, position).first { (scope: $0.text(0), text: $0.text(1)) }
    guard let found, found.text != text else { return }
    try connection(.deleteSearch, position, found.scope, try searchText().tokens(of: found.text)).run()
    if let text, !text.isEmpty { try index(position, scope: found.scope, text: text) }
  }
}

extension Reader {
  func searchText() throws -> SearchText { SearchText(salt: try salt()) }
}

extension Query {
  fileprivate static let insertSearch = Query("INSERT INTO search (rowid, scope, text) VALUES (?1, ?2, ?3)")
  /// The engine keeps no texts, so the removed text must be passed.
  fileprivate static let deleteSearch = Query(
    "INSERT INTO search (search, rowid, scope, text) VALUES ('delete', ?1, ?2, ?3)")
  fileprivate static let indexedUpTo = Query("SELECT position FROM search_progress")
  fileprivate static let setIndexed = Query("UPDATE search_progress SET position = ?1")
  fileprivate static let unindexed = Query(
    """
    SELECT p.position, iif(\(SearchSchema.isFound), \(SearchSchema.text), NULL),
      iif(\(SearchSchema.isFound), \(SearchSchema.scope), NULL)
    FROM \(SearchSchema.source) WHERE p.position > ?1 ORDER BY p.position LIMIT ?2
    """)
  fileprivate static let indexed = Query(
    """
    SELECT \(SearchSchema.scope), \(SearchSchema.text) FROM \(SearchSchema.source)
    WHERE \(SearchSchema.isFound) AND p.position = ?1
    """)
}

/// The source of the index.
enum SearchSchema {
  static let scope = """
    CASE WHEN p.peer = 0 THEN 'd' || p.dialog
      ELSE 'u' || p.author || ' u' || p.peer || CASE WHEN p.via IS NULL THEN ' d' || p.dialog ELSE ' w' || p.via END END
    """
  static let text = "coalesce(s.text, p.text)"
  static let source = "payloads p LEFT JOIN states s ON s.position = p.position"
  /// `Fact.Kind.message`; `Content.Kind.none` and `.encrypted`.
  static let isFound =
    "p.kind = 1 AND p.seq > 0 AND p.content_kind NOT IN (0, 2) AND coalesce(s.text, p.text) <> ''"
}
