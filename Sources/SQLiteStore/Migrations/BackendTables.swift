extension Migration {
  /// The keys of backends, the audit of all surfaces, and webhooks:
  /// - `hook_lanes`: a dialog with more events than a webhook takes has a position of its own, and the webhook continues
  ///   without it.
  /// - `occurrences`: the events for webhooks that are not in the log.
  static let backendTables = """
    CREATE TABLE app_keys (
      id INTEGER PRIMARY KEY,
      realm INTEGER NOT NULL,
      name TEXT NOT NULL,
      prefix TEXT NOT NULL,
      hash BLOB NOT NULL UNIQUE,
      scopes TEXT NOT NULL,
      created INTEGER NOT NULL,
      used INTEGER
    ) STRICT;
    CREATE INDEX app_keys_of_realm ON app_keys (realm);

    CREATE TABLE audit (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      realm INTEGER NOT NULL,
      key INTEGER NOT NULL,
      name TEXT NOT NULL,
      time INTEGER NOT NULL,
      operation TEXT NOT NULL,
      target TEXT NOT NULL,
      status INTEGER NOT NULL,
      surface TEXT NOT NULL DEFAULT 'http',
      prefix TEXT NOT NULL DEFAULT '',
      origin TEXT NOT NULL DEFAULT '',
      code TEXT NOT NULL DEFAULT ''
    ) STRICT;
    CREATE INDEX audit_of_realm ON audit (realm, id);
    CREATE INDEX audit_of_time ON audit (time);

    CREATE TABLE hooks (
      id INTEGER PRIMARY KEY,
      realm INTEGER NOT NULL,
      url TEXT NOT NULL,
      events TEXT NOT NULL,
      secret BLOB NOT NULL,
      previous BLOB,
      previous_until INTEGER,
      trusted INTEGER NOT NULL,
      created INTEGER NOT NULL,
      state INTEGER NOT NULL,
      position INTEGER NOT NULL,
      occurrence INTEGER NOT NULL,
      attempts INTEGER NOT NULL DEFAULT 0,
      failures INTEGER NOT NULL DEFAULT 0,
      failing_since INTEGER,
      next INTEGER,
      reason TEXT
    ) STRICT;

    CREATE TABLE hook_lanes (
      hook INTEGER NOT NULL,
      dialog INTEGER NOT NULL,
      position INTEGER NOT NULL,
      PRIMARY KEY (hook, dialog)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE hook_failures (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      hook INTEGER NOT NULL,
      position INTEGER NOT NULL,
      occurrence INTEGER NOT NULL,
      event TEXT NOT NULL,
      message TEXT NOT NULL,
      failed INTEGER NOT NULL,
      reason TEXT NOT NULL,
      due INTEGER NOT NULL,
      UNIQUE (hook, message)
    ) STRICT;
    CREATE INDEX hook_failures_of_hook ON hook_failures (hook, id);

    CREATE TABLE occurrences (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      realm INTEGER NOT NULL,
      kind INTEGER NOT NULL,
      user INTEGER NOT NULL,
      detail INTEGER NOT NULL,
      time INTEGER NOT NULL,
      position INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX occurrences_of_realm ON occurrences (realm, id);
    """
}
