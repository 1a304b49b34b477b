extension Migration {
  /// The stanzas of suspended sessions are read when a session is resumed, and not with its state at the start.
  /// - `suspended_stanzas`: those of a stream are the parts in the order of their ids; each stop adds one. Their session is
  ///   removed from `suspended` once this process serves clients, so that it does not come back after a crash.
  static let suspendedStanzas = Migration(
    number: 60, name: "suspended-stanzas",
    sql: """
      CREATE INDEX suspended_stream ON suspended (high, low);
      CREATE TABLE suspended_stanzas (
        id INTEGER PRIMARY KEY,
        user INTEGER NOT NULL,
        high INTEGER NOT NULL,
        low INTEGER NOT NULL,
        expires INTEGER NOT NULL,
        stanzas BLOB NOT NULL
      ) STRICT;
      CREATE INDEX suspended_stanzas_stream ON suspended_stanzas (high, low);
      CREATE INDEX suspended_stanzas_expires ON suspended_stanzas (expires);
      """)
}
