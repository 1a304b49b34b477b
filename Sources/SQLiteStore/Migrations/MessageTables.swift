extension Migration {
  /// The log and its indexes:
  /// - `payloads`: every entry whole, in log order; written once, deleted when erased. As it is only appended to, a
  ///   hundred messages change a dozen of its pages. `peer` is 0 in rooms; `via` is the room of a private message in it.
  /// - `entries`: the messages and markers of each dialog, in order: history, the archive with one contact, and how
  ///   much counts as unread up to each (`ordinal` over all; `own` is the count of the member with the lower number, and in
  ///   rooms the author's number if the entry counts, else 0).
  /// - `feed`: the entries that concern each user, in order: the feed, the personal archive, offline messages. Messages of
  ///   rooms are not in it: members read `entries`, so that a message costs the same whatever the number of members.
  /// - `origins`: the messages of a dialog with an id of this hash, up to `log.origins`; those behind it are in memory
  ///   (`OriginGenerations`).
  ///
  /// These have as few and as narrow columns as possible: each message writes five rows, scattered over as many pages, and
  /// pages are the cost of a commit. Foreign keys are not declared: the log has one writer, which makes no dangling ones, and
  /// a check would be a lookup per row.
  ///
  /// The content of messages that changes:
  /// - `states`: a row for each message that was corrected, reacted to or retracted. These have a bit in `payloads.traits`,
  ///   so that reading the others costs nothing.
  /// - `changes`: the entries that change a message (`target`), which are erased with it. `edit` is 1 for an earlier text that
  ///   may be read.
  /// - `retracted`: the retracted messages that had made the dialog unread, by their ordinal; `author` had never counted
  ///   them (`Mark.retracted`).
  /// - `mentions`: a row per member for whom a mention counts, under the ordinal of the message, so that the unread ones are
  ///   those behind `displayed_ordinal`. The index serves the member's count, the key the replacement of the rows of one
  ///   message.
  /// - `pins.pinned`: the position of the entry that pinned the message.
  /// - `search`: the full-text index of messages, without their text (`content=''`), filled up to `search_progress`.
  /// - `calls`: the calls. A row with `due` is one that has not ended.
  /// - `epochs`: the epochs of public ids that restored backups have begun.
  static let messageTables = """
    CREATE TABLE log (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      position INTEGER NOT NULL,
      time INTEGER NOT NULL,
      salt INTEGER NOT NULL,
      origins INTEGER NOT NULL DEFAULT 0
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
      key_hash INTEGER,
      via INTEGER,
      nick TEXT,
      mentions BLOB,
      attachments BLOB
    ) STRICT;
    CREATE INDEX payloads_media ON payloads (dialog, content_kind, position)
      WHERE content_kind - 3 BETWEEN 0 AND 7;

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

    CREATE TABLE states (
      position INTEGER PRIMARY KEY,
      version INTEGER NOT NULL,
      revision INTEGER NOT NULL,
      text TEXT,
      edited INTEGER,
      detail BLOB NOT NULL,
      mentions BLOB
    ) STRICT;

    CREATE TABLE changes (
      target INTEGER NOT NULL,
      position INTEGER NOT NULL,
      edit INTEGER NOT NULL DEFAULT 1,
      PRIMARY KEY (target, position)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE retracted (
      dialog INTEGER NOT NULL,
      ordinal INTEGER NOT NULL,
      position INTEGER NOT NULL,
      author INTEGER NOT NULL,
      PRIMARY KEY (dialog, ordinal)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE mentions (
      dialog INTEGER NOT NULL,
      ordinal INTEGER NOT NULL,
      user INTEGER NOT NULL,
      PRIMARY KEY (dialog, ordinal, user)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX mentions_user ON mentions (user, dialog, ordinal);

    CREATE TABLE pins (
      dialog INTEGER NOT NULL,
      position INTEGER NOT NULL,
      pinned INTEGER NOT NULL,
      PRIMARY KEY (dialog, position)
    ) STRICT, WITHOUT ROWID;

    CREATE VIRTUAL TABLE search USING fts5(scope, text, content='', columnsize=0, tokenize='ascii');

    CREATE TABLE search_progress (
      position INTEGER NOT NULL
    ) STRICT;
    INSERT INTO search_progress (position) VALUES (0);

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

    CREATE TABLE epochs (
      position INTEGER PRIMARY KEY,
      dialog INTEGER NOT NULL,
      number INTEGER NOT NULL,
      began INTEGER NOT NULL
    ) STRICT;
    """
}
