extension Migration {
  /// The index of what messages say (`Search.swift`), filled with what there is: some twenty
  /// seconds for a million messages. It keeps no text (`content=''`); `search_tokens` is this
  /// program's (`SearchText`), so that only it can write here.
  static let search = Migration(
    number: 12, name: "search",
    sql: """
      CREATE VIRTUAL TABLE search USING fts5(scope, text, content='', columnsize=0, tokenize='ascii');
      INSERT INTO search (rowid, scope, text)
      SELECT p.position,
        CASE WHEN p.peer = 0 THEN 'd' || p.dialog
          ELSE 'u' || p.author || ' u' || p.peer
            || CASE WHEN p.via IS NULL THEN ' d' || p.dialog ELSE ' w' || p.via END END,
        search_tokens(coalesce(s.text, p.text), (SELECT salt FROM log))
      FROM payloads p LEFT JOIN states s ON s.position = p.position
      WHERE p.kind = 1 AND p.seq > 0 AND p.content_kind NOT IN (0, 2) AND coalesce(s.text, p.text) <> ''
      ORDER BY p.position;
      """)
}
