extension Migration {
  /// The nonces that have been used for a login, until they expire.
  static let nonces = Migration(
    number: 21, name: "nonces",
    sql: """
      CREATE TABLE used_nonces (
        realm INTEGER NOT NULL,
        nonce TEXT NOT NULL,
        expires INTEGER NOT NULL,
        PRIMARY KEY (realm, nonce)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX used_nonces_by_end ON used_nonces (expires);
      """)
}
