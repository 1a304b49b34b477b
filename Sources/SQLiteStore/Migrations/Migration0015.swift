extension Migration {
  /// The data of a realm as a whole: the message of the day.
  static let realmVault = Migration(
    number: 15, name: "realm-vault",
    sql: """
      CREATE TABLE realm_vault (
        realm INTEGER NOT NULL,
        item TEXT NOT NULL,
        bytes BLOB NOT NULL,
        PRIMARY KEY (realm, item)
      ) STRICT, WITHOUT ROWID;
      """)
}
