extension Migration {
  /// Other servers:
  /// - `outbox`: the rows that wait for other servers. One without a stanza refers to the entry at its position.
  /// - `federation_rules`: the operator's rules for other domains.
  /// - `blocklist`: the entries of other services' block lists.
  static let federationTables = """
    CREATE TABLE domain_pairs (
      id INTEGER PRIMARY KEY,
      local TEXT NOT NULL,
      remote TEXT NOT NULL,
      failures INTEGER NOT NULL,
      next INTEGER,
      reason TEXT,
      verified INTEGER,
      UNIQUE (local, remote)
    ) STRICT;

    CREATE TABLE outbox (
      pair INTEGER NOT NULL,
      position INTEGER NOT NULL,
      author INTEGER NOT NULL,
      expires INTEGER NOT NULL,
      stanza BLOB,
      PRIMARY KEY (pair, position)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE federation_rules (
      domain TEXT PRIMARY KEY NOT NULL,
      allowed INTEGER NOT NULL,
      note TEXT,
      changed_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE blocklist (
      source TEXT NOT NULL,
      hash BLOB NOT NULL,
      PRIMARY KEY (source, hash)
    ) STRICT, WITHOUT ROWID;
    """
}
