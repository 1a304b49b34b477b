extension Migration {
  /// `user_notes`: the operators' notes on users.
  static let userNotes = Migration(
    number: 33, name: "user-notes",
    sql: """
      CREATE TABLE user_notes (
        user INTEGER PRIMARY KEY,
        text TEXT NOT NULL,
        changed_at INTEGER NOT NULL
      ) STRICT;
      """)
}
