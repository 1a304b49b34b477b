import Dialogs

/// The index of what messages say (XEP-0431): written in the transaction that says it, so that a
/// reader finds what it has been told. Measured: ten microseconds of CPU per message in batches of
/// a thousand, fifteen to thirty in batches of a hundred, three hundred for a message alone.
///
/// A row per message that is shown and has a text, under its position, which is the order of
/// every answer. What is indexed is what an app shows now: after the last edit, nothing of
/// what was taken back, and no ciphertext. `scope` holds whose it is: of a private dialog
/// both users (`u12`) and the dialog (`d7`), of a whisper both users and the room it was
/// whispered in (`w7`), of what is said in a room the room (`d7`).
extension Writer {
  func index(_ entry: Entry) throws {
    guard case .message(let message) = entry.fact, message.sequence > 0, !message.content.text.isEmpty,
      message.content.kind.isSearched
    else { return }
    let scope =
      switch entry.place {
      case .peer(let peer): "u\(entry.author.id.number) u\(peer.id.number) d\(entry.dialog.number)"
      case .whisper(let peer, let room, _): "u\(entry.author.id.number) u\(peer.id.number) w\(room.dialog.number)"
      case .room: "d\(entry.dialog.number)"
      }
    try index(entry.position, scope: scope, text: message.content.text)
  }

  private func index(_ position: Position, scope: String, text: String) throws {
    let tokens = try searchText().tokens(of: text)
    try connection(.insertSearch).bind(1, position.number).bind(2, scope).bind(3, tokens).run()
  }

  /// The message now says something else; nil: nothing any more. Before its state or payload is written.
  func reindex(_ position: Position, to text: String?) throws {
    let found = try connection(.indexed).bind(1, position.number).first { (scope: $0.text(0), text: $0.text(1)) }
    guard let found, found.text != text else { return }
    try connection(.deleteSearch).bind(1, position.number).bind(2, found.scope)
      .bind(3, try searchText().tokens(of: found.text)).run()
    if let text, !text.isEmpty { try index(position, scope: found.scope, text: text) }
  }
}

extension Reader {
  func searchText() throws -> SearchText { SearchText(salt: try salt()) }
}

extension Content.Kind {
  fileprivate var isSearched: Bool {
    switch self {
    case .none, .encrypted: false
    case .text, .custom, .location, .contact, .sticker, .image, .video, .audio, .file, .system, .call: true
    }
  }
}

extension Query {
  fileprivate static let insertSearch = Query("INSERT INTO search (rowid, scope, text) VALUES (?1, ?2, ?3)")
  /// The engine keeps no texts, and must be told what it is to forget.
  fileprivate static let deleteSearch = Query(
    "INSERT INTO search (search, rowid, scope, text) VALUES ('delete', ?1, ?2, ?3)")
  fileprivate static let indexed = Query(
    "SELECT \(SearchSchema.scope), \(SearchSchema.text) FROM \(SearchSchema.source) AND p.position = ?1")
}

/// What the index is made from; the migration that fills it says the same.
enum SearchSchema {
  static let scope = """
    CASE WHEN p.peer = 0 THEN 'd' || p.dialog
      ELSE 'u' || p.author || ' u' || p.peer || CASE WHEN p.via IS NULL THEN ' d' || p.dialog ELSE ' w' || p.via END END
    """
  static let text = "coalesce(s.text, p.text)"
  static let source = """
    payloads p LEFT JOIN states s ON s.position = p.position
    WHERE p.kind = 1 AND p.seq > 0 AND p.content_kind NOT IN (0, 2) AND coalesce(s.text, p.text) <> ''
    """
}
