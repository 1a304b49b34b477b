extension Migration {
  /// The states of messages: a row for each that was corrected, reacted to or retracted. These have a bit in
  /// `payloads.traits`, so that reading the others costs nothing. Corrections are found by their target, since they are
  /// erased with it.
  static let states = Migration(
    number: 3, name: "states",
    sql: """
      CREATE TABLE states (
        position INTEGER PRIMARY KEY,
        version INTEGER NOT NULL,
        revision INTEGER NOT NULL,
        text TEXT,
        edited INTEGER,
        detail BLOB NOT NULL
      ) STRICT;
      CREATE TABLE corrections (
        target INTEGER NOT NULL,
        position INTEGER NOT NULL,
        PRIMARY KEY (target, position)
      ) STRICT, WITHOUT ROWID;
      """)
}
