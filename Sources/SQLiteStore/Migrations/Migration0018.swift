extension Migration {
  /// A user's settings of a dialog (`DialogSettings`), in their row of it; NULL if nothing was ever set.
  static let dialogSettings = Migration(
    number: 18, name: "dialog-settings",
    sql: """
      ALTER TABLE members ADD COLUMN settings BLOB;
      """)
}
