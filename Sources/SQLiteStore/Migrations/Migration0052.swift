extension Migration {
  /// `administrators`: the users who have been made administrators. `report_messages.dialog`: the dialog of a reported
  /// message; none of earlier reports, and of those of other servers.
  static let administrators = Migration(
    number: 52, name: "administrators",
    sql: """
      CREATE TABLE administrators (
        user INTEGER PRIMARY KEY,
        since INTEGER NOT NULL
      ) STRICT;
      ALTER TABLE report_messages ADD COLUMN dialog INTEGER;
      """)
}
