extension Migration {
  /// The operator's rules for domains elsewhere.
  static let federationRules = Migration(
    number: 40, name: "federation-rules",
    sql: """
      CREATE TABLE federation_rules (
        domain TEXT PRIMARY KEY NOT NULL,
        allowed INTEGER NOT NULL,
        note TEXT,
        changed_at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      """)
}
