extension Migration {
  /// The audit of all surfaces. What was in it are calls with keys.
  static let audit = Migration(
    number: 47, name: "audit",
    sql: """
      ALTER TABLE audit ADD COLUMN surface TEXT NOT NULL DEFAULT 'http';
      ALTER TABLE audit ADD COLUMN prefix TEXT NOT NULL DEFAULT '';
      ALTER TABLE audit ADD COLUMN origin TEXT NOT NULL DEFAULT '';
      ALTER TABLE audit ADD COLUMN code TEXT NOT NULL DEFAULT '';
      CREATE INDEX audit_of_time ON audit (time);
      """)
}
