extension Migration {
  /// The cost of a message: gathering ids are no longer in a table, but in memory (`OriginGenerations`), and the index
  /// of media has a condition without a list.
  static let messageCosts = Migration(
    number: 31, name: "message-costs",
    sql: """
      INSERT OR IGNORE INTO origins (dialog, hash, position) SELECT dialog, hash, position FROM fresh_origins;
      DROP TABLE fresh_origins;
      ALTER TABLE log ADD COLUMN origins INTEGER NOT NULL DEFAULT 0;
      UPDATE log SET origins = (SELECT coalesce(max(position), 0) FROM payloads);
      DROP INDEX payloads_media;
      CREATE INDEX payloads_media ON payloads (dialog, content_kind, position) WHERE content_kind - 3 BETWEEN 0 AND 7;
      """)
}
