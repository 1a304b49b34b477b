extension Migration {
  /// The identities of users besides their address: each belongs to one user in its realm.
  static let identities = Migration(
    number: 20, name: "identities",
    sql: """
      CREATE TABLE identities (
        realm INTEGER NOT NULL,
        issuer TEXT NOT NULL,
        subject TEXT NOT NULL,
        user INTEGER NOT NULL,
        since INTEGER NOT NULL,
        PRIMARY KEY (realm, issuer, subject)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX identities_of_user ON identities (user);
      """)
}
