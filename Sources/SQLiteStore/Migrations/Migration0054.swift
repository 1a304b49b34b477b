extension Migration {
  /// The files in messages by the time of their upload, of which the oldest go where a realm has too many bytes of them.
  static let filesByAge = Migration(
    number: 54, name: "files-by-age",
    sql: """
      CREATE INDEX blobs_by_age ON blobs (realm, created, id, size, expires) WHERE state = 1 AND purpose <> 1;
      """)
}
