extension Migration {
  /// Rooms: dialogs of many.
  ///
  /// A room is a row of `dialogs` (kind 2, both members 0), so that numbers and counters are those of every dialog, and
  /// a row of `rooms` with everything that messages do not change. Its messages are in `payloads` (peer 0) and
  /// `entries`; no feed has a row of them, its members read `entries`. So a message costs the same, whatever the number
  /// of members. In a room:
  /// - `entries.flags`: "in the archive of the first" means in the room's archive.
  /// - `entries.own`: the author's number if the entry counts, else 0: how much a user wrote between two places is
  ///   counted without looking at payloads.
  /// - `members`: one row per member, with how much they wrote (`own`; the members of a private dialog have that in the
  ///   dialog's row). A user's rooms are found by it, so a destroyed room has none.
  /// - `affiliations`: the affiliations to the room, including those of banned and of former members.
  static let rooms = Migration(
    number: 2, name: "rooms",
    sql: """
      ALTER TABLE realms ADD COLUMN rooms TEXT NOT NULL DEFAULT '';
      ALTER TABLE members ADD COLUMN own INTEGER NOT NULL DEFAULT 0;

      DROP INDEX dialogs_pair;
      CREATE UNIQUE INDEX dialogs_pair ON dialogs (first, second) WHERE kind < 2;

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
        destroyed INTEGER NOT NULL
      ) STRICT;
      CREATE UNIQUE INDEX rooms_localpart ON rooms (realm, localpart);
      CREATE UNIQUE INDEX rooms_external_id ON rooms (realm, external_id) WHERE external_id IS NOT NULL;
      CREATE INDEX rooms_listed ON rooms (realm, localpart) WHERE listed = 1 AND destroyed = 0;

      CREATE TABLE affiliations (
        room INTEGER NOT NULL,
        user INTEGER NOT NULL,
        affiliation INTEGER NOT NULL,
        nick TEXT,
        nick_key TEXT,
        since INTEGER NOT NULL,
        joined INTEGER NOT NULL,
        version INTEGER NOT NULL,
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
      """)
}
