extension Migration {
  /// The members who were kicked from a room and have not come back: they are still members, and silent.
  static let kicks = Migration(
    number: 7, name: "kicks",
    sql: """
      ALTER TABLE affiliations ADD COLUMN kicked INTEGER NOT NULL DEFAULT 0;
      """)
}
