extension Migration {
  /// The devices of apps among the push registrations, bound to a login; and the pending pushes for other things than
  /// messages.
  static let devices = Migration(
    number: 26, name: "devices",
    sql: """
      ALTER TABLE push_registrations ADD COLUMN login INTEGER;
      ALTER TABLE pushes_owed ADD COLUMN kind INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE pushes_owed ADD COLUMN subject INTEGER NOT NULL DEFAULT 0;
      """)
}
