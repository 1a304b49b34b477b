extension Migration {
  /// The index of what messages say, empty, and up to which position it is filled (`Search.swift`). It keeps no text
  /// (`content=''`).
  static let search = Migration(
    number: 12, name: "search",
    sql: """
      CREATE VIRTUAL TABLE search USING fts5(scope, text, content='', columnsize=0, tokenize='ascii');
      CREATE TABLE search_progress (position INTEGER NOT NULL) STRICT;
      INSERT INTO search_progress (position) VALUES (0);
      """)
}
