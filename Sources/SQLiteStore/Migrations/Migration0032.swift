extension Migration {
  /// `cleared_rooms`: up to which position users had cleared rooms of which they are members no more. It is put back
  /// into `members.cleared` when they join again.
  static let clearedRooms = Migration(
    number: 32, name: "cleared-rooms",
    sql: """
      CREATE TABLE cleared_rooms (
        user INTEGER NOT NULL,
        dialog INTEGER NOT NULL,
        position INTEGER NOT NULL,
        PRIMARY KEY (user, dialog)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX cleared_rooms_dialog ON cleared_rooms (dialog, position);
      """)
}
