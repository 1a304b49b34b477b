extension Migration {
  /// The rooms. A room is a row of `dialogs`, so that numbers and counters are those of every dialog, and a row of `rooms`
  /// with everything that messages do not change.
  /// - `rooms`: `external_id` is the id that a backend gave, `user_external_id` that of the user `creator`. `temporary` is 1
  ///   for a temporary room until its content is removed. `destroyed` is 2 for a room that has ended and whose address may
  ///   be another room's. `retention_days` is the age of messages of its settings.
  /// - `affiliations`: includes those of banned users, with the reason, and of former members. `kicked` members are still
  ///   members, and silent.
  /// - `invitations`: those that may still be declined, a bounded number per room.
  static let roomTables = """
    CREATE TABLE rooms (
      dialog INTEGER PRIMARY KEY,
      realm INTEGER NOT NULL,
      localpart TEXT NOT NULL,
      external_id TEXT,
      settings BLOB NOT NULL,
      folded_name TEXT,
      listed INTEGER NOT NULL,
      topic TEXT,
      topic_nick TEXT,
      topic_time INTEGER,
      member_count INTEGER NOT NULL,
      version INTEGER NOT NULL,
      destroyed INTEGER NOT NULL,
      temporary INTEGER NOT NULL DEFAULT 0,
      retention_days INTEGER,
      creator INTEGER,
      user_external_id TEXT
    ) STRICT;
    CREATE UNIQUE INDEX rooms_external_id ON rooms (realm, external_id) WHERE external_id IS NOT NULL;
    CREATE INDEX rooms_listed ON rooms (realm, localpart) WHERE listed = 1 AND destroyed = 0;
    CREATE INDEX rooms_temporary ON rooms (dialog) WHERE temporary = 1;
    CREATE UNIQUE INDEX rooms_localpart ON rooms (realm, localpart) WHERE destroyed < 2;
    CREATE INDEX rooms_retention ON rooms (dialog) WHERE retention_days IS NOT NULL;
    CREATE UNIQUE INDEX rooms_user_external_id ON rooms (creator, user_external_id)
      WHERE user_external_id IS NOT NULL;

    CREATE TABLE affiliations (
      room INTEGER NOT NULL,
      user INTEGER NOT NULL,
      affiliation INTEGER NOT NULL,
      nick TEXT,
      nick_key TEXT,
      since INTEGER NOT NULL,
      joined INTEGER NOT NULL,
      version INTEGER NOT NULL,
      reason TEXT,
      kicked INTEGER NOT NULL DEFAULT 0,
      nick_registered INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (room, user)
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX affiliations_nick ON affiliations (room, nick_key) WHERE nick_key IS NOT NULL;
    CREATE INDEX affiliations_version ON affiliations (room, version);

    CREATE TABLE room_vault (
      id INTEGER PRIMARY KEY,
      room INTEGER NOT NULL,
      node TEXT NOT NULL,
      item TEXT NOT NULL,
      bytes BLOB NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX room_vault_item ON room_vault (room, node, item);

    CREATE TABLE invitations (
      room INTEGER NOT NULL,
      user INTEGER NOT NULL,
      inviter INTEGER NOT NULL,
      position INTEGER NOT NULL,
      PRIMARY KEY (room, user, inviter)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX invitations_position ON invitations (room, position);
    """
}
