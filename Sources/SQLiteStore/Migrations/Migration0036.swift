extension Migration {
  /// The members whose nick was registered or given to them. Of the nicks that are stored already no one can tell.
  static let registeredNicks = Migration(
    number: 36, name: "registered-nicks",
    sql: """
      ALTER TABLE affiliations ADD COLUMN nick_registered INTEGER NOT NULL DEFAULT 0;
      """)
}
