extension Migration {
  /// One-time codes, password resets, second factors, and the times of users' last logins.
  static let codes = Migration(
    number: 22, name: "codes",
    sql: """
      CREATE TABLE codes (
        realm INTEGER NOT NULL,
        issuer TEXT NOT NULL,
        subject TEXT NOT NULL,
        user INTEGER NOT NULL,
        hash BLOB NOT NULL,
        expires INTEGER NOT NULL,
        attempts INTEGER NOT NULL,
        PRIMARY KEY (realm, issuer, subject, user)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX codes_by_end ON codes (expires);
      CREATE INDEX codes_of_user ON codes (user) WHERE user <> 0;
      CREATE TABLE password_resets (
        hash BLOB PRIMARY KEY,
        user INTEGER NOT NULL,
        expires INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX password_resets_by_end ON password_resets (expires);
      CREATE INDEX password_resets_of_user ON password_resets (user);
      CREATE TABLE second_factors (
        user INTEGER PRIMARY KEY,
        secret BLOB NOT NULL,
        is_on INTEGER NOT NULL,
        last_step INTEGER NOT NULL,
        created INTEGER NOT NULL
      ) STRICT;
      CREATE TABLE recovery_codes (
        user INTEGER NOT NULL,
        hash BLOB NOT NULL,
        PRIMARY KEY (user, hash)
      ) STRICT, WITHOUT ROWID;
      ALTER TABLE users ADD COLUMN last_login INTEGER;
      """)
}
