extension Migration {
  /// The log, its indexes, and everything else durable. The tables of the log and their uses:
  /// - `payloads`: every entry whole, in log order; written once, deleted when erased. As it is only appended to, a
  ///   hundred messages change a dozen of its pages.
  /// - `entries`: the messages and markers of each dialog, in order: history, the archive with one contact, and how
  ///   much counts as unread up to each (`ordinal` over all, `own` of the member with the lower number).
  /// - `feed`: the entries that concern each user, in order: the feed, the personal archive, offline messages.
  /// - `origins`: the messages of a dialog with an id of this hash.
  ///
  /// They have as few and as narrow columns as possible: each message writes five rows, scattered over as many pages,
  /// and pages are the cost of a commit. Foreign keys are not declared: the log has one writer, which makes no dangling
  /// ones, and a check would be a lookup per row.
  static let log = Migration(
    number: 1, name: "log",
    sql: """
      CREATE TABLE log (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        position INTEGER NOT NULL,
        time INTEGER NOT NULL,
        salt INTEGER NOT NULL
      ) STRICT;
      INSERT INTO log (id, position, time, salt) VALUES (1, 0, 0, random());

      CREATE TABLE payloads (
        position INTEGER PRIMARY KEY,
        dialog INTEGER NOT NULL,
        author INTEGER NOT NULL,
        peer INTEGER NOT NULL,
        kind INTEGER NOT NULL,
        time INTEGER NOT NULL,
        seq INTEGER,
        traits INTEGER,
        type INTEGER,
        from_resource TEXT,
        to_resource TEXT,
        stanza_id TEXT,
        lang TEXT,
        content_kind INTEGER,
        text TEXT,
        fields TEXT,
        extras BLOB,
        detail BLOB,
        key_id TEXT,
        key_hash INTEGER
      ) STRICT;

      CREATE TABLE entries (
        dialog INTEGER NOT NULL,
        position INTEGER NOT NULL,
        flags INTEGER NOT NULL,
        ordinal INTEGER NOT NULL,
        own INTEGER NOT NULL,
        PRIMARY KEY (dialog, position)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE feed (
        user INTEGER NOT NULL,
        position INTEGER NOT NULL,
        traits INTEGER NOT NULL,
        PRIMARY KEY (user, position)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE origins (
        dialog INTEGER NOT NULL,
        hash INTEGER NOT NULL,
        position INTEGER NOT NULL,
        PRIMARY KEY (dialog, hash, position)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE dialogs (
        id INTEGER PRIMARY KEY,
        kind INTEGER NOT NULL,
        first INTEGER NOT NULL,
        second INTEGER NOT NULL,
        sequence INTEGER NOT NULL,
        ordinal INTEGER NOT NULL,
        first_own INTEGER NOT NULL,
        second_own INTEGER NOT NULL,
        last INTEGER NOT NULL,
        created INTEGER NOT NULL
      ) STRICT;
      CREATE UNIQUE INDEX dialogs_pair ON dialogs (first, second);

      CREATE TABLE members (
        user INTEGER NOT NULL,
        dialog INTEGER NOT NULL,
        delivered INTEGER NOT NULL,
        displayed INTEGER NOT NULL,
        displayed_ordinal INTEGER NOT NULL,
        own_at_displayed INTEGER NOT NULL,
        position INTEGER NOT NULL,
        PRIMARY KEY (user, dialog)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE realms (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        domain TEXT NOT NULL UNIQUE,
        key BLOB NOT NULL,
        epoch INTEGER NOT NULL
      ) STRICT;

      CREATE TABLE users (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        realm INTEGER NOT NULL,
        name TEXT NOT NULL,
        state INTEGER NOT NULL,
        created INTEGER NOT NULL,
        display_name TEXT,
        folded_name TEXT,
        status TEXT,
        avatar_hash TEXT,
        metadata TEXT,
        last_seen INTEGER,
        delivered INTEGER NOT NULL
      ) STRICT;
      CREATE UNIQUE INDEX users_name ON users (realm, name);

      CREATE TABLE credentials (
        user INTEGER NOT NULL,
        hash INTEGER NOT NULL,
        salt BLOB NOT NULL,
        iterations INTEGER NOT NULL,
        stored_key BLOB NOT NULL,
        server_key BLOB NOT NULL,
        PRIMARY KEY (user, hash)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE vault (
        id INTEGER PRIMARY KEY,
        user INTEGER NOT NULL,
        node TEXT NOT NULL,
        item TEXT NOT NULL,
        bytes BLOB NOT NULL
      ) STRICT;
      CREATE UNIQUE INDEX vault_item ON vault (user, node, item);

      CREATE TABLE contacts (
        owner INTEGER NOT NULL,
        address TEXT NOT NULL,
        peer INTEGER,
        name TEXT,
        groups BLOB,
        subscription INTEGER NOT NULL,
        request BLOB,
        version INTEGER NOT NULL,
        removed INTEGER NOT NULL,
        hidden INTEGER NOT NULL,
        PRIMARY KEY (owner, address)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX contacts_version ON contacts (owner, version);

      CREATE TABLE blocks (
        owner INTEGER NOT NULL,
        rank INTEGER NOT NULL,
        jid TEXT NOT NULL,
        PRIMARY KEY (owner, rank)
      ) STRICT, WITHOUT ROWID;

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
      """)
}
