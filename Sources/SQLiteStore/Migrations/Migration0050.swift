extension Migration {
  /// Messages that go by age, and what is held.
  /// - `dialogs.expired`: the position up to which a dialog's entries are gone; `expired_ordinal`: how many up to there
  ///   made it unread. The row of `entries` at this position stays without a payload, as the counts go on from it.
  /// - `holds`: the users and the dialogs of which nothing goes; the other number of a row is 0.
  static let retention = Migration(
    number: 50, name: "retention",
    sql: """
      ALTER TABLE dialogs ADD COLUMN expired INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE dialogs ADD COLUMN expired_ordinal INTEGER NOT NULL DEFAULT 0;
      CREATE INDEX stars_position ON stars (position);
      CREATE TABLE holds (
        user INTEGER NOT NULL,
        dialog INTEGER NOT NULL,
        realm INTEGER NOT NULL,
        note TEXT,
        since INTEGER NOT NULL,
        PRIMARY KEY (user, dialog)
      ) STRICT, WITHOUT ROWID;
      """)
}
