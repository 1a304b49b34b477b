extension Migration {
  /// Lists of dialogs are in the order of the messages that are shown.
  /// - `dialogs.shown`: the position of the last such entry (the lowest bit of its flags), or of the first entry. Until now a list was in
  ///   the order of `last`, by which a marker of a reader moved a dialog to its beginning.
  static let shown = Migration(
    number: 61, name: "shown",
    sql: """
      ALTER TABLE dialogs ADD COLUMN shown INTEGER NOT NULL DEFAULT 0;
      UPDATE dialogs SET shown = coalesce(
        (SELECT e.position FROM entries e WHERE e.dialog = dialogs.id AND e.flags & 1 ORDER BY e.position DESC LIMIT 1),
        (SELECT e.position FROM entries e WHERE e.dialog = dialogs.id ORDER BY e.position LIMIT 1),
        last);
      """)
}
