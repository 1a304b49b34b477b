extension Migration {
  /// Whom messages mention.
  ///
  /// What a message says of people stands with it (`payloads.mentions`, `states.mentions`). In `mentions` is for whom it
  /// counts: a row per member, under the ordinal of the message, so that unread are those behind `displayed_ordinal`,
  /// as with messages. The index serves the member's count, the key what replaces the rows of one message.
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
