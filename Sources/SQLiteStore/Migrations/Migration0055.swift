extension Migration {
  /// Messages that were retracted and count as unread no more (`Mark.retracted`).
  /// - `retracted`: those that made the dialog unread, by their ordinal; `author` had never counted them.
  /// - `dialogs.retracted_ordinal`: the highest of these ordinals.
  ///
  /// A state begins with its version, in one byte, and whether it has a retraction.
  static let retracted = Migration(
    number: 55, name: "retracted",
    sql: """
      ALTER TABLE dialogs ADD COLUMN retracted_ordinal INTEGER NOT NULL DEFAULT 0;
      CREATE TABLE retracted (
        dialog INTEGER NOT NULL,
        ordinal INTEGER NOT NULL,
        position INTEGER NOT NULL,
        author INTEGER NOT NULL,
        PRIMARY KEY (dialog, ordinal)
      ) STRICT, WITHOUT ROWID;
      INSERT INTO retracted (dialog, ordinal, position, author)
        SELECT e.dialog, e.ordinal, e.position, p.author
        FROM states s CROSS JOIN payloads p ON p.position = s.position
          CROSS JOIN entries e ON e.dialog = p.dialog AND e.position = p.position
        WHERE substr(s.detail, 2, 1) = x'01' AND e.flags & 2;
      UPDATE dialogs SET retracted_ordinal = (SELECT max(r.ordinal) FROM retracted r WHERE r.dialog = dialogs.id)
        WHERE id IN (SELECT dialog FROM retracted);
      DELETE FROM mentions WHERE EXISTS (
        SELECT 1 FROM retracted r WHERE r.dialog = mentions.dialog AND r.ordinal = mentions.ordinal);
      """)
}
