extension Migration {
  /// The table in which ids of messages gather until there are many: see `Origins.swift`.
  static let freshOrigins = Migration(
    number: 30, name: "fresh_origins",
    sql: """
      CREATE TABLE fresh_origins (
        dialog INTEGER NOT NULL,
        hash INTEGER NOT NULL,
        position INTEGER NOT NULL,
        PRIMARY KEY (dialog, hash, position)
      ) STRICT, WITHOUT ROWID;
      """)
}
