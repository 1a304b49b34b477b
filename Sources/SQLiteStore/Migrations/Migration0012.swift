extension Migration {
  /// The full-text index of messages, empty, and the position up to which it is filled (`Search.swift`). It keeps no
  /// text (`content=''`).
  static let search = Migration(
    number: 12, name: "search",
    sql: """
      CREATE VIRTUAL TABLE search USING fts5(scope, text, content='', columnsize=0, tokenize='ascii');
      CREATE TABLE search_progress (position INTEGER NOT NULL) STRICT;
      INSERT INTO search_progress (position) VALUES (0);
      """)
}
