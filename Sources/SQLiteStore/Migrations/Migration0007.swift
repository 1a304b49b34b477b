extension Migration {
  /// Who was kicked from a room and has not come back: still a member, and silent.
  static let kicks = Migration(
    number: 7, name: "kicks",
    sql: """
      ALTER TABLE affiliations ADD COLUMN kicked INTEGER NOT NULL DEFAULT 0;
      """)
}
