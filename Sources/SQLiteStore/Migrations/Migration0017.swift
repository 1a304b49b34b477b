extension Migration {
  /// The push registrations of users (XEP-0357), and their pending pushes.
  static let pushes = Migration(
    number: 17, name: "pushes",
    sql: """
      CREATE TABLE push_registrations (
        user INTEGER NOT NULL,
        service TEXT NOT NULL,
        node TEXT NOT NULL,
        options BLOB,
        resource TEXT NOT NULL,
        pushed INTEGER NOT NULL,
        failures INTEGER NOT NULL,
        enabled INTEGER NOT NULL,
        PRIMARY KEY (user, service, node)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE pushes_owed (
        user INTEGER NOT NULL,
        position INTEGER NOT NULL,
        dialog INTEGER NOT NULL,
        PRIMARY KEY (user, position)
      ) STRICT, WITHOUT ROWID;
      """)
}
