extension Migration {
  /// What a user wants of a dialog (`DialogSettings`), in their row of it. NULL: nothing was ever set.
  static let dialogSettings = Migration(
    number: 18, name: "dialog-settings",
    sql: """
      ALTER TABLE members ADD COLUMN settings BLOB;
      """)
}
