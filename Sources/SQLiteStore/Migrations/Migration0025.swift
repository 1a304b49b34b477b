extension Migration {
  /// Drafts and scheduled messages, and an index of files and places.
  /// - `drafts`: at most one per user and dialog.
  /// - `scheduled`: under its author. `said` is the content of the message. The index has those that will be sent.
  /// - `payloads_media`: the messages with a file or a place, by dialog and kind. Texts are not in it and cost nothing.
  static let unsent = Migration(
    number: 25, name: "unsent",
    sql: """
      CREATE TABLE drafts (
        user INTEGER NOT NULL,
        dialog INTEGER NOT NULL,
        text TEXT NOT NULL,
        reply_to INTEGER,
        updated INTEGER NOT NULL,
        position INTEGER NOT NULL,
        PRIMARY KEY (user, dialog)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE scheduled (
        user INTEGER NOT NULL,
        id INTEGER NOT NULL,
        dialog INTEGER NOT NULL,
        created INTEGER NOT NULL,
        due INTEGER NOT NULL,
        client_id TEXT NOT NULL,
        body_hash INTEGER NOT NULL,
        said BLOB NOT NULL,
        failure_code TEXT,
        failure_text TEXT,
        position INTEGER NOT NULL,
        PRIMARY KEY (user, id)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX scheduled_due ON scheduled (due) WHERE failure_code IS NULL;
      CREATE INDEX payloads_media ON payloads (dialog, content_kind, position)
        WHERE content_kind IN (3, 4, 5, 6, 7, 8, 9, 10);
      """)
}
