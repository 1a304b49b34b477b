extension Migration {
  /// The guests: users without an account, who are deleted with their last session. The index holds the present ones.
  static let guests = Migration(
    number: 19, name: "guests",
    sql: """
      ALTER TABLE users ADD COLUMN guest INTEGER NOT NULL DEFAULT 0;
      CREATE INDEX users_guests ON users (id) WHERE guest = 1 AND state <> 2;
      """)
}
