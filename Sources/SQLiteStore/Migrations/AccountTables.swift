extension Migration {
  /// Logins, and what operators do with accounts:
  /// - `app_password_keys`: the keys have neither salt nor iterations: they share those of the row of `credentials` with the
  ///   same hash.
  /// - `clients`: XMPP clients with tokens (XEP-0484); a row has the nonces of two of them, and no token.
  /// - `identities`: the identities of users besides their address, each of one user in its realm.
  /// - `used_nonces`: the nonces that have been used for a login, until they expire.
  /// - `account_tasks`: exports and deletions of accounts.
  /// - `invites`: under the SHA-256 of their tokens. `inviter` is NULL for an operator, `name` is a reserved one. Numbers are
  ///   never issued again: operators name invitations and reports by them.
  /// - `reports.forwarding`: the state of a report that must be forwarded; NULL for all others. `report_messages` has the
  ///   messages that a report quotes, deleted with it; `dialog` is NULL for those of other servers and of old reports.
  /// - `administrators`: the users who have been made administrators.
  static let accountTables = """
    CREATE TABLE credentials (
      user INTEGER NOT NULL,
      hash INTEGER NOT NULL,
      salt BLOB NOT NULL,
      iterations INTEGER NOT NULL,
      stored_key BLOB NOT NULL,
      server_key BLOB NOT NULL,
      PRIMARY KEY (user, hash)
    ) STRICT, WITHOUT ROWID;

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

    CREATE TABLE grants (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      user INTEGER NOT NULL,
      device TEXT NOT NULL,
      access BLOB NOT NULL,
      access_expires INTEGER NOT NULL,
      refresh BLOB NOT NULL,
      previous_refresh BLOB,
      created INTEGER NOT NULL,
      used INTEGER NOT NULL,
      client TEXT
    ) STRICT;
    CREATE UNIQUE INDEX grants_access ON grants (access);
    CREATE UNIQUE INDEX grants_refresh ON grants (refresh);
    CREATE INDEX grants_previous ON grants (previous_refresh) WHERE previous_refresh IS NOT NULL;
    CREATE INDEX grants_user ON grants (user);

    CREATE TABLE identities (
      realm INTEGER NOT NULL,
      issuer TEXT NOT NULL,
      subject TEXT NOT NULL,
      user INTEGER NOT NULL,
      since INTEGER NOT NULL,
      PRIMARY KEY (realm, issuer, subject)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX identities_of_user ON identities (user);

    CREATE TABLE used_nonces (
      realm INTEGER NOT NULL,
      nonce TEXT NOT NULL,
      expires INTEGER NOT NULL,
      PRIMARY KEY (realm, nonce)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX used_nonces_by_end ON used_nonces (expires);

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

    CREATE TABLE account_tasks (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      user INTEGER NOT NULL,
      kind INTEGER NOT NULL,
      state INTEGER NOT NULL,
      created INTEGER NOT NULL,
      finished INTEGER,
      reached INTEGER NOT NULL,
      blob TEXT,
      size INTEGER
    ) STRICT;
    CREATE INDEX account_tasks_of_user ON account_tasks (user, id);
    CREATE INDEX account_tasks_pending ON account_tasks (id) WHERE state = 0;

    CREATE TABLE administrators (
      user INTEGER PRIMARY KEY,
      since INTEGER NOT NULL
    ) STRICT;

    CREATE TABLE invites (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      realm INTEGER NOT NULL,
      kind INTEGER NOT NULL,
      token BLOB NOT NULL UNIQUE,
      inviter INTEGER,
      name TEXT,
      created INTEGER NOT NULL,
      expires INTEGER NOT NULL,
      used INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX invites_inviter ON invites (realm, inviter);
    CREATE INDEX invites_name ON invites (realm, name) WHERE name IS NOT NULL;
    CREATE INDEX invites_expires ON invites (expires);

    CREATE TABLE reports (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      realm INTEGER NOT NULL,
      reporter INTEGER NOT NULL,
      reported TEXT NOT NULL,
      reason TEXT NOT NULL,
      text TEXT NOT NULL,
      consent INTEGER NOT NULL,
      created INTEGER NOT NULL,
      forwarding INTEGER,
      forwarding_at INTEGER
    ) STRICT;
    CREATE INDEX reports_reporter ON reports (realm, reporter, created);
    CREATE INDEX reports_forwarding ON reports (forwarding, forwarding_at) WHERE forwarding IS NOT NULL;

    CREATE TABLE report_messages (
      report INTEGER NOT NULL,
      ordinal INTEGER NOT NULL,
      message TEXT NOT NULL,
      text TEXT,
      dialog INTEGER,
      PRIMARY KEY (report, ordinal)
    ) STRICT, WITHOUT ROWID;
    """
}
