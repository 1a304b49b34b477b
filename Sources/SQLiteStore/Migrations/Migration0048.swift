extension Migration {
  /// The epochs of public ids that restored backups have begun.
  static let epochs = Migration(
    number: 48, name: "epochs",
    sql: """
      CREATE TABLE epochs (
        position INTEGER PRIMARY KEY,
        dialog INTEGER NOT NULL,
        number INTEGER NOT NULL,
        began INTEGER NOT NULL
      ) STRICT;
      """)
}
