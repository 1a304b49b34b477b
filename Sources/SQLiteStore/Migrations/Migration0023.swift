extension Migration {
  /// The settings of users, their shared locations, their match keys, and the tasks of their accounts.
  static let userSettings = Migration(
    number: 23, name: "user-settings",
    sql: """
      ALTER TABLE users ADD COLUMN avatar_url TEXT;
      CREATE TABLE user_settings (
        user INTEGER PRIMARY KEY,
        last_seen INTEGER NOT NULL,
        searchable INTEGER NOT NULL,
        matchable INTEGER NOT NULL,
        contacts_metadata TEXT,
        private_metadata TEXT,
        terms TEXT,
        terms_time INTEGER
      ) STRICT;
      CREATE TABLE locations (
        user INTEGER PRIMARY KEY,
        realm INTEGER NOT NULL,
        row INTEGER NOT NULL,
        column INTEGER NOT NULL,
        expires INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX locations_cell ON locations (realm, row, column);
      CREATE INDEX locations_expires ON locations (expires);
      CREATE TABLE match_keys (
        realm INTEGER NOT NULL,
        key BLOB NOT NULL,
        user INTEGER NOT NULL,
        PRIMARY KEY (realm, key, user)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX match_keys_of_user ON match_keys (user);
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
      """)
}
