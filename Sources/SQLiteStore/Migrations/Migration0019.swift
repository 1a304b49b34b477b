extension Migration {
  /// Users without an account, who go with their last session. The index holds those who are there.
  static let guests = Migration(
    number: 19, name: "guests",
    sql: """
      ALTER TABLE users ADD COLUMN guest INTEGER NOT NULL DEFAULT 0;
      CREATE INDEX users_guests ON users (id) WHERE guest = 1 AND state <> 2;
      """)
}
