extension Migration {
  /// The whispers of a room's occupants, and more data on a room's people.
  /// - The whispers of two in one room are a row of `dialogs` (kind 3, `via` the room's number), which no list of
  ///   dialogs looks at and for which `members` has no rows. They are in `payloads` like private messages, with the
  ///   room (`via`) and the author's nick (`nick`); the addressee's is `to_resource`.
  /// - `affiliations.reason`: the reason of a ban.
  /// - `invitations`: those that may still be declined, a bounded number per room.
  static let whispers = Migration(
    number: 5, name: "whispers",
    sql: """
      ALTER TABLE dialogs ADD COLUMN via INTEGER NOT NULL DEFAULT 0;
      CREATE UNIQUE INDEX dialogs_whispers ON dialogs (via, first, second) WHERE kind = 3;
      CREATE INDEX dialogs_whispers_second ON dialogs (via, second) WHERE kind = 3;

      ALTER TABLE payloads ADD COLUMN via INTEGER;
      ALTER TABLE payloads ADD COLUMN nick TEXT;

      ALTER TABLE affiliations ADD COLUMN reason TEXT;

      CREATE TABLE invitations (
        room INTEGER NOT NULL,
        user INTEGER NOT NULL,
        inviter INTEGER NOT NULL,
        position INTEGER NOT NULL,
        PRIMARY KEY (room, user, inviter)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX invitations_position ON invitations (room, position);
      """)
}
