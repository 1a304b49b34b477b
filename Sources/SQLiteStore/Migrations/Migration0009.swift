extension Migration {
  /// Files that users keep here.
  ///
  /// `blobs` has what is known of each; the bytes are in the data folder. `state` is `Blob.State`; `media_type` is that
  /// of the slot until the bytes have come. In `blob_references` is which messages name which file: when a message is
  /// taken back, nothing else that names the file keeps it. What a message brings stands with it
  /// (`payloads.attachments`).
  static let blobs = Migration(
    number: 9, name: "blobs",
    sql: """
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
        duration INTEGER
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX blobs_owner ON blobs (owner, state, created, size, expires);
      CREATE INDEX blobs_expires ON blobs (expires) WHERE state = 1 AND expires IS NOT NULL;
      CREATE INDEX blobs_unstored ON blobs (state, created) WHERE state <> 1;

      CREATE TABLE blob_references (
        position INTEGER NOT NULL,
        blob BLOB NOT NULL,
        PRIMARY KEY (position, blob)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX blob_references_blob ON blob_references (blob);

      ALTER TABLE payloads ADD COLUMN attachments BLOB;
      """)
}
