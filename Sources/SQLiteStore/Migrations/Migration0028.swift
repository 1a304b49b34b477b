extension Migration {
  /// The slots that are uploaded in parts, and the thumbnails of files. The index still covers the count of a user's
  /// files.
  static let attachments = Migration(
    number: 28, name: "attachments",
    sql: """
      ALTER TABLE blobs ADD COLUMN resumable INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE blobs ADD COLUMN thumbnail_width INTEGER;
      ALTER TABLE blobs ADD COLUMN thumbnail_height INTEGER;
      DROP INDEX blobs_owner;
      CREATE INDEX blobs_owner ON blobs (owner, state, created, size, expires, resumable);
      """)
}
