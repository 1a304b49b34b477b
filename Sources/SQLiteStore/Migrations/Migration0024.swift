extension Migration {
  /// The changes that users made to messages for themselves alone, and the pins.
  /// - `members.cleared`: the position up to which the user has deleted everything of the dialog for themselves;
  ///   `left_list`: whether it is in no list until something is shown behind it. `members.hidden`: `Mark.hidden`.
  /// - `hidden`: messages that were deleted one by one; `counts`: the message makes the dialog unread.
  /// - `pins.pinned`: the position of the entry that pinned it.
  ///
  /// The partial indexes hold only the users who have cleared anything.
  static let messages = Migration(
    number: 24, name: "messages",
    sql: """
      ALTER TABLE members ADD COLUMN cleared INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE members ADD COLUMN left_list INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE members ADD COLUMN hidden INTEGER NOT NULL DEFAULT 0;
      CREATE INDEX members_cleared ON members (dialog, cleared) WHERE cleared > 0;
      CREATE INDEX members_cleared_by ON members (user) WHERE cleared > 0;

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

      CREATE TABLE pins (
        dialog INTEGER NOT NULL,
        position INTEGER NOT NULL,
        pinned INTEGER NOT NULL,
        PRIMARY KEY (dialog, position)
      ) STRICT, WITHOUT ROWID;
      """)
}
