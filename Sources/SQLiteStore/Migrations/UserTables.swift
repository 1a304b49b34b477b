extension Migration {
  /// The realms, the users, and what others see of them:
  /// - `realm_vault`: the data of a realm as a whole: the message of the day.
  /// - `users.guest`: 1 for a user without an account, who is deleted with their last session. The index holds the present ones.
  /// - `user_notes`: the operators' notes on users.
  /// - `user_settings`: `messages_from` and `calls_from` name the users from whom messages and calls are accepted: at first all,
  ///   and the contacts.
  /// - `shared_contacts_versions`: the versions of what members see of contact groups. `contact_groups.names_version` is
  ///   `ContactGroup.namesVersion`.
  /// - `contact_group_links`: two rows for two groups that see each other.
  /// - `match_keys`: the keys by which users are found from address books.
  static let userTables = """
    CREATE TABLE realms (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      domain TEXT NOT NULL UNIQUE,
      key BLOB NOT NULL,
      epoch INTEGER NOT NULL,
      rooms TEXT NOT NULL DEFAULT ''
    ) STRICT;

    CREATE TABLE realm_vault (
      realm INTEGER NOT NULL,
      item TEXT NOT NULL,
      bytes BLOB NOT NULL,
      PRIMARY KEY (realm, item)
    ) STRICT, WITHOUT ROWID;

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
      delivered INTEGER NOT NULL,
      guest INTEGER NOT NULL DEFAULT 0,
      last_login INTEGER,
      avatar_url TEXT
    ) STRICT;
    CREATE UNIQUE INDEX users_name ON users (realm, name);
    CREATE INDEX users_guests ON users (id) WHERE guest = 1 AND state <> 2;

    CREATE TABLE user_notes (
      user INTEGER PRIMARY KEY,
      text TEXT NOT NULL,
      changed_at INTEGER NOT NULL
    ) STRICT;

    CREATE TABLE user_settings (
      user INTEGER PRIMARY KEY,
      last_seen INTEGER NOT NULL,
      searchable INTEGER NOT NULL,
      matchable INTEGER NOT NULL,
      contacts_metadata TEXT,
      private_metadata TEXT,
      terms TEXT,
      terms_time INTEGER,
      calls_from INTEGER NOT NULL DEFAULT 1,
      messages_from INTEGER NOT NULL DEFAULT 2
    ) STRICT;

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

    CREATE TABLE contact_groups (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      realm INTEGER NOT NULL,
      name TEXT NOT NULL,
      display_name TEXT NOT NULL,
      has_everyone INTEGER NOT NULL,
      names_version INTEGER NOT NULL DEFAULT 0,
      UNIQUE (realm, name)
    ) STRICT;

    CREATE TABLE contact_group_members (
      group_id INTEGER NOT NULL,
      user INTEGER NOT NULL,
      PRIMARY KEY (group_id, user)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX contact_groups_of_user ON contact_group_members (user);

    CREATE TABLE contact_group_links (
      group_id INTEGER NOT NULL,
      seen_id INTEGER NOT NULL,
      PRIMARY KEY (group_id, seen_id)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE shared_contacts_versions (
      user INTEGER PRIMARY KEY,
      version INTEGER NOT NULL
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
    """
}
