extension Migration {
  /// The mentions in messages.
  ///
  /// They are stored with the message (`payloads.mentions`, `states.mentions`). `mentions` has a row per member for
  /// whom one counts, under the ordinal of the message, so that the unread ones are those behind `displayed_ordinal`,
  /// as with messages. The index serves the member's count, the key the replacement of the rows of one message.
  static let mentions = Migration(
    number: 6, name: "mentions",
    sql: """
      ALTER TABLE payloads ADD COLUMN mentions BLOB;
      ALTER TABLE states ADD COLUMN mentions BLOB;
      CREATE TABLE mentions (
        dialog INTEGER NOT NULL,
        ordinal INTEGER NOT NULL,
        user INTEGER NOT NULL,
        PRIMARY KEY (dialog, ordinal, user)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX mentions_user ON mentions (user, dialog, ordinal);
      """)
}
