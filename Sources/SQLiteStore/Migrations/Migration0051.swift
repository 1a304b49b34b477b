extension Migration {
  /// Keeps the changes of a message, to go with it, and a room's own age of messages.
  /// - `changes`, which was `corrections`: all that changes a message: reactions, retractions and pins too. `edit` is 1 for
  ///   an earlier text that may be read. Reactions and the like of before have no row, and go at their own age.
  /// - `rooms.retention_days`: the days after which the messages of a room go by its owners' wish, as in its settings.
  static let changes = Migration(
    number: 51, name: "changes",
    sql: """
      ALTER TABLE corrections RENAME TO changes;
      ALTER TABLE changes ADD COLUMN edit INTEGER NOT NULL DEFAULT 1;
      ALTER TABLE rooms ADD COLUMN retention_days INTEGER;
      CREATE INDEX rooms_retention ON rooms (dialog) WHERE retention_days IS NOT NULL;
      """)
}
