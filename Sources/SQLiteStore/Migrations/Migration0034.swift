extension Migration {
  /// Rooms that end. `rooms.temporary` is 1 for a temporary room until its content is removed. `rooms.destroyed` is 2
  /// for a room that has ended and whose address may be another room's.
  static let temporaryRooms = Migration(
    number: 34, name: "temporary-rooms",
    sql: """
      ALTER TABLE rooms ADD COLUMN temporary INTEGER NOT NULL DEFAULT 0;
      CREATE INDEX rooms_temporary ON rooms (dialog) WHERE temporary = 1;
      DROP INDEX rooms_localpart;
      CREATE UNIQUE INDEX rooms_localpart ON rooms (realm, localpart) WHERE destroyed < 2;
      """)
}
