extension Migration {
  /// XMPP clients with tokens (XEP-0484), and app passwords.
  ///
  /// A client's row holds its two tokens, of each a nonce only. The keys of app passwords have neither salt nor
  /// iterations: they share those of the row of `credentials` with the same hash.
  static let clients = Migration(
    number: 8, name: "clients",
    sql: """
      CREATE TABLE clients (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        user INTEGER NOT NULL,
        agent TEXT NOT NULL,
        software TEXT,
        device TEXT,
        source INTEGER NOT NULL,
        source_id INTEGER NOT NULL,
        mechanism TEXT,
        nonce BLOB,
        expires INTEGER,
        count INTEGER,
        new_mechanism TEXT,
        new_nonce BLOB,
        new_expires INTEGER,
        created INTEGER NOT NULL,
        used INTEGER NOT NULL
      ) STRICT;
      CREATE UNIQUE INDEX clients_agent ON clients (user, agent);
      CREATE TABLE app_passwords (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        user INTEGER NOT NULL,
        name TEXT NOT NULL,
        created INTEGER NOT NULL,
        used INTEGER
      ) STRICT;
      CREATE INDEX app_passwords_user ON app_passwords (user);
      CREATE TABLE app_password_keys (
        user INTEGER NOT NULL,
        password INTEGER NOT NULL,
        hash INTEGER NOT NULL,
        stored_key BLOB NOT NULL,
        server_key BLOB NOT NULL,
        PRIMARY KEY (user, password, hash)
      ) STRICT, WITHOUT ROWID;
      """)
}
