extension Migration {
  /// The invitations and the reports.
  /// - `invites`: under the SHA-256 of their tokens. `inviter` is NULL for an operator, `name` is a reserved one.
  ///   Numbers are never issued again: operators name invitations and reports by them.
  /// - `report_messages`: the messages that a report quotes, deleted with it.
  static let invites = Migration(
    number: 16, name: "invites",
    sql: """
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
        created INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX reports_reporter ON reports (realm, reporter, created);
      CREATE TABLE report_messages (
        report INTEGER NOT NULL,
        ordinal INTEGER NOT NULL,
        message TEXT NOT NULL,
        text TEXT,
        PRIMARY KEY (report, ordinal)
      ) STRICT, WITHOUT ROWID;
      """)
}
