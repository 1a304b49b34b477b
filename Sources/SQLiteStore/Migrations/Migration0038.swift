extension Migration {
  /// The rows that wait for servers elsewhere. One without a stanza refers to the entry at its position.
  static let outbox = Migration(
    number: 38, name: "outbox",
    sql: """
      CREATE TABLE domain_pairs (
        id INTEGER PRIMARY KEY,
        local TEXT NOT NULL,
        remote TEXT NOT NULL,
        failures INTEGER NOT NULL,
        next INTEGER,
        reason TEXT,
        verified INTEGER,
        UNIQUE (local, remote)
      ) STRICT;
      CREATE TABLE outbox (
        pair INTEGER NOT NULL,
        position INTEGER NOT NULL,
        author INTEGER NOT NULL,
        expires INTEGER NOT NULL,
        stanza BLOB,
        PRIMARY KEY (pair, position)
      ) STRICT, WITHOUT ROWID;
      """)
}
