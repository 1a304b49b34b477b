extension Migration {
  /// Sessions that can be resumed, and pushes:
  /// - `suspended_stanzas`: read when a session is resumed, and not with its state at the start. Those of a stream are the
  ///   parts in the order of their ids; each stop adds one. Their session is removed from `suspended` once this process serves
  ///   clients, so that it does not come back after a crash.
  /// - `push_registrations`: those of XEP-0357, and the devices of apps, which are bound to a `login`.
  /// - `pushes_owed`: the pending pushes; `kind` and `subject` are of pushes for other things than messages.
  static let sessionTables = """
    CREATE TABLE streams (
      high INTEGER NOT NULL,
      low INTEGER NOT NULL,
      number INTEGER NOT NULL,
      time INTEGER NOT NULL,
      PRIMARY KEY (high, low)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE suspended (
      id INTEGER PRIMARY KEY,
      user INTEGER NOT NULL,
      high INTEGER NOT NULL,
      low INTEGER NOT NULL,
      expires INTEGER NOT NULL,
      state BLOB NOT NULL
    ) STRICT;
    CREATE INDEX suspended_stream ON suspended (high, low);

    CREATE TABLE suspended_stanzas (
      id INTEGER PRIMARY KEY,
      user INTEGER NOT NULL,
      high INTEGER NOT NULL,
      low INTEGER NOT NULL,
      expires INTEGER NOT NULL,
      stanzas BLOB NOT NULL
    ) STRICT;
    CREATE INDEX suspended_stanzas_stream ON suspended_stanzas (high, low);
    CREATE INDEX suspended_stanzas_expires ON suspended_stanzas (expires);

    CREATE TABLE push_registrations (
      user INTEGER NOT NULL,
      service TEXT NOT NULL,
      node TEXT NOT NULL,
      options BLOB,
      resource TEXT NOT NULL,
      pushed INTEGER NOT NULL,
      failures INTEGER NOT NULL,
      enabled INTEGER NOT NULL,
      login INTEGER,
      PRIMARY KEY (user, service, node)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE pushes_owed (
      user INTEGER NOT NULL,
      position INTEGER NOT NULL,
      dialog INTEGER NOT NULL,
      kind INTEGER NOT NULL DEFAULT 0,
      subject INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (user, position)
    ) STRICT, WITHOUT ROWID;
    """
}
