extension Migration {
  /// A dialog with more events than a webhook takes has a position of its own, and the webhook goes on without it.
  static let hookLanes = Migration(
    number: 62, name: "hook-lanes",
    sql: """
      CREATE TABLE hook_lanes (
        hook INTEGER NOT NULL,
        dialog INTEGER NOT NULL,
        position INTEGER NOT NULL,
        PRIMARY KEY (hook, dialog)
      ) STRICT, WITHOUT ROWID;
      """)
}
