extension Migration {
  /// What has become of reports that are to be forwarded; NULL for all others.
  static let forwardedReports = Migration(
    number: 43, name: "forwarded-reports",
    sql: """
      ALTER TABLE reports ADD COLUMN forwarding INTEGER;
      ALTER TABLE reports ADD COLUMN forwarding_at INTEGER;
      CREATE INDEX reports_forwarding ON reports (forwarding, forwarding_at) WHERE forwarding IS NOT NULL;
      """)
}
