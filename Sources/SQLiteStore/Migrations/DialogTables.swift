extension Migration {
  /// The dialogs and what each user has of them:
  /// - `dialogs`: kinds 0 and 1 are of one and two users, 2 is a room (both members are 0), and 3 has the private messages of
  ///   two users in a room (`via`), which no list of dialogs reads and for which `members` has no rows. `shown` is the position
  ///   of the last entry that lists show (the lowest bit of its flags), or of the first entry. `expired` is the position up to which
  ///   entries were deleted by age, `expired_ordinal` how many up to there made the dialog unread; the row of `entries` at this
  ///   position stays without a payload, as the counts continue from it. `retracted_ordinal` is the highest ordinal in `retracted`.
  /// - `members`: a user's row of a dialog: marks, counts and settings (`DialogSettings`; NULL if nothing was ever set).
  ///   `own` is how much the member of a room wrote; the members of a private dialog have that in the dialog's row.
  ///   `cleared` is the position up to which the user has deleted everything of the dialog for themselves; `left_list` says
  ///   whether it is in no list until something is shown behind it; `hidden` is `Mark.hidden`. `retention_days` is the age of
  ///   messages that the member wants, `aged` the position up to which they were removed by it. The partial indexes hold
  ///   only the users who use this.
  /// - `cleared_rooms`: the same position for rooms of which the user is no member any more; a new membership gets it back.
  /// - `hidden`: messages that a user deleted one by one for themselves; `counts` says whether the message makes the dialog unread.
  /// - `drafts`: at most one per user and dialog.
  /// - `scheduled`: messages under their author; `said` is the content. The index has those that will be sent.
  /// - `holds`: the users and the dialogs of which nothing is deleted by age; the other number of a row is 0.
  static let dialogTables = """
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
      created INTEGER NOT NULL,
      via INTEGER NOT NULL DEFAULT 0,
      expired INTEGER NOT NULL DEFAULT 0,
      expired_ordinal INTEGER NOT NULL DEFAULT 0,
      retracted_ordinal INTEGER NOT NULL DEFAULT 0,
      shown INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE UNIQUE INDEX dialogs_pair ON dialogs (first, second) WHERE kind < 2;
    CREATE UNIQUE INDEX dialogs_whispers ON dialogs (via, first, second) WHERE kind = 3;
    CREATE INDEX dialogs_whispers_second ON dialogs (via, second) WHERE kind = 3;

    CREATE TABLE members (
      user INTEGER NOT NULL,
      dialog INTEGER NOT NULL,
      delivered INTEGER NOT NULL,
      displayed INTEGER NOT NULL,
      displayed_ordinal INTEGER NOT NULL,
      own_at_displayed INTEGER NOT NULL,
      position INTEGER NOT NULL,
      own INTEGER NOT NULL DEFAULT 0,
      settings BLOB,
      cleared INTEGER NOT NULL DEFAULT 0,
      left_list INTEGER NOT NULL DEFAULT 0,
      hidden INTEGER NOT NULL DEFAULT 0,
      retention_days INTEGER,
      aged INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (user, dialog)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX members_cleared ON members (dialog, cleared) WHERE cleared > 0;
    CREATE INDEX members_cleared_by ON members (user) WHERE cleared > 0;
    CREATE INDEX members_retention ON members (dialog, user) WHERE retention_days IS NOT NULL;

    CREATE TABLE cleared_rooms (
      user INTEGER NOT NULL,
      dialog INTEGER NOT NULL,
      position INTEGER NOT NULL,
      PRIMARY KEY (user, dialog)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX cleared_rooms_dialog ON cleared_rooms (dialog, position);

    CREATE TABLE hidden (
      user INTEGER NOT NULL,
      position INTEGER NOT NULL,
      dialog INTEGER NOT NULL,
      counts INTEGER NOT NULL,
      PRIMARY KEY (user, position)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX hidden_position ON hidden (position);

    CREATE TABLE stars (
      user INTEGER NOT NULL,
      position INTEGER NOT NULL,
      dialog INTEGER NOT NULL,
      PRIMARY KEY (user, position)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX stars_position ON stars (position);

    CREATE TABLE drafts (
      user INTEGER NOT NULL,
      dialog INTEGER NOT NULL,
      text TEXT NOT NULL,
      reply_to INTEGER,
      updated INTEGER NOT NULL,
      position INTEGER NOT NULL,
      PRIMARY KEY (user, dialog)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE scheduled (
      user INTEGER NOT NULL,
      id INTEGER NOT NULL,
      dialog INTEGER NOT NULL,
      created INTEGER NOT NULL,
      due INTEGER NOT NULL,
      client_id TEXT NOT NULL,
      body_hash INTEGER NOT NULL,
      said BLOB NOT NULL,
      failure_code TEXT,
      failure_text TEXT,
      position INTEGER NOT NULL,
      PRIMARY KEY (user, id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX scheduled_due ON scheduled (due) WHERE failure_code IS NULL;

    CREATE TABLE holds (
      user INTEGER NOT NULL,
      dialog INTEGER NOT NULL,
      realm INTEGER NOT NULL,
      note TEXT,
      since INTEGER NOT NULL,
      PRIMARY KEY (user, dialog)
    ) STRICT, WITHOUT ROWID;
    """
}
