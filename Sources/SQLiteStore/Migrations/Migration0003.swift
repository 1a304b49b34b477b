extension Migration {
  /// What became of messages: a row for each that was corrected, reacted to or
  /// taken back. Of those `payloads.traits` has a bit, so that reading the others
  /// costs nothing.
  static let states = Migration(
    number: 3, name: "states",
    sql: """
      CREATE TABLE states (
        position INTEGER PRIMARY KEY,
        version INTEGER NOT NULL,
        text TEXT,
        edited INTEGER,
        detail BLOB NOT NULL
      ) STRICT;
      """)
}
