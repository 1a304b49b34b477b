extension Migration {
  /// The external ids that users give, a space of each creator. Those that the backend gives stay in `external_id`.
  /// - `rooms.creator`: the user who has given `user_external_id`.
  ///
  /// Until now one id of a realm was in one room, and the log has the owner as the creator, whether the owner or the
  /// backend created it. So what had an id keeps it in both spaces: both get the same room as before. The creator is the
  /// author of the room's first notice (`x'02020002'`). Where that has gone by its age, the creator is the founding member
  /// who follows the room from before their own version, as others do from it; where there is no such row, nobody.
  static let userExternalIDs = Migration(
    number: 57, name: "user-external-ids",
    sql: """
      ALTER TABLE rooms ADD COLUMN creator INTEGER;
      ALTER TABLE rooms ADD COLUMN user_external_id TEXT;
      UPDATE rooms SET creator = coalesce(
          (SELECT p.author FROM dialogs d CROSS JOIN entries e ON e.dialog = d.id
            CROSS JOIN payloads p ON p.position = e.position
            WHERE d.id = rooms.dialog AND d.expired = 0 AND p.kind = 15 AND p.detail = x'02020002'
            ORDER BY e.position LIMIT 1),
          (SELECT a.user FROM dialogs d CROSS JOIN affiliations a ON a.room = d.id
            WHERE d.id = rooms.dialog AND a.joined = d.created AND a.version = a.since + 1
            ORDER BY a.since LIMIT 1))
        WHERE external_id IS NOT NULL;
      UPDATE rooms SET user_external_id = external_id WHERE creator IS NOT NULL;
      CREATE UNIQUE INDEX rooms_user_external_id ON rooms (creator, user_external_id)
        WHERE user_external_id IS NOT NULL;
      """)
}
