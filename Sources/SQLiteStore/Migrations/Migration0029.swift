extension Migration {
  /// The calls, and the users from whom calls are accepted: at first the contacts.
  static let calls = Migration(
    number: 29, name: "calls",
    sql: """
      CREATE TABLE calls (
        position INTEGER PRIMARY KEY,
        dialog INTEGER NOT NULL,
        name TEXT NOT NULL,
        kind INTEGER NOT NULL,
        state INTEGER NOT NULL,
        reason INTEGER,
        caller INTEGER NOT NULL,
        caller_resource TEXT,
        caller_app INTEGER NOT NULL,
        callee INTEGER NOT NULL,
        callee_resource TEXT,
        callee_app INTEGER NOT NULL,
        rang INTEGER NOT NULL,
        heard INTEGER,
        accepted INTEGER,
        ended INTEGER,
        due INTEGER
      ) STRICT;
      CREATE UNIQUE INDEX calls_name ON calls (dialog, name);
      CREATE INDEX calls_by ON calls (caller, rang);
      CREATE INDEX calls_to ON calls (callee);
      CREATE INDEX calls_open_by ON calls (caller, position) WHERE due IS NOT NULL;
      CREATE INDEX calls_open_to ON calls (callee, position) WHERE due IS NOT NULL;
      CREATE INDEX calls_due ON calls (due) WHERE due IS NOT NULL;
      ALTER TABLE user_settings ADD COLUMN calls_from INTEGER NOT NULL DEFAULT 1;
      """)
}
