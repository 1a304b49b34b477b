extension Migration {
  /// The metadata of files; the bytes are in the data folder or in a bucket.
  /// - `blobs`: `state` is `Blob.State`; `media_type` is that of the slot until the bytes have come. `blobs_owner` covers the
  ///   count of a user's files; `blobs_by_age` has the files in messages, of which the oldest are deleted where a realm has too
  ///   many bytes of them.
  /// - `blob_references`: the messages that name a file: when one is retracted, the file is kept only if another names it. A
  ///   message's own attachments are stored with it (`payloads.attachments`).
  static let fileTables = """
    CREATE TABLE blobs (
      id BLOB PRIMARY KEY,
      realm INTEGER NOT NULL,
      owner INTEGER NOT NULL,
      name TEXT NOT NULL,
      media_type TEXT,
      size INTEGER NOT NULL,
      purpose INTEGER NOT NULL,
      state INTEGER NOT NULL,
      created INTEGER NOT NULL,
      expires INTEGER,
      sha256 BLOB,
      width INTEGER,
      height INTEGER,
      duration INTEGER,
      resumable INTEGER NOT NULL DEFAULT 0,
      thumbnail_width INTEGER,
      thumbnail_height INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX blobs_expires ON blobs (expires) WHERE state = 1 AND expires IS NOT NULL;
    CREATE INDEX blobs_unstored ON blobs (state, created) WHERE state <> 1;
    CREATE INDEX blobs_owner ON blobs (owner, state, created, size, expires, resumable);
    CREATE INDEX blobs_by_age ON blobs (realm, created, id, size, expires) WHERE state = 1 AND purpose <> 1;

    CREATE TABLE blob_references (
      position INTEGER NOT NULL,
      blob BLOB NOT NULL,
      PRIMARY KEY (position, blob)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX blob_references_blob ON blob_references (blob);
    """
}
