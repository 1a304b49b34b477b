extension Migration {
  /// The entries of other services' block lists.
  static let blocklist = Migration(
    number: 42, name: "blocklist",
    sql: """
      CREATE TABLE blocklist (
        source TEXT NOT NULL,
        hash BLOB NOT NULL,
        PRIMARY KEY (source, hash)
      ) STRICT, WITHOUT ROWID;
      """)
}
