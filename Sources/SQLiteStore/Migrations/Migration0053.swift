extension Migration {
  /// Ages of messages that members want for themselves, and contact groups that see each other.
  /// - `members.retention_days`: the days after which messages go from the member's view, as in their settings.
  /// - `members.aged`: the position up to which they have gone so; the member's counts are right at least up to there.
  /// - `contact_group_links`: two rows for two groups.
  static let wishesAndLinks = Migration(
    number: 53, name: "wishes-and-links",
    sql: """
      ALTER TABLE members ADD COLUMN retention_days INTEGER;
      ALTER TABLE members ADD COLUMN aged INTEGER NOT NULL DEFAULT 0;
      CREATE INDEX members_retention ON members (dialog, user) WHERE retention_days IS NOT NULL;
      CREATE TABLE contact_group_links (
        group_id INTEGER NOT NULL,
        seen_id INTEGER NOT NULL,
        PRIMARY KEY (group_id, seen_id)
      ) STRICT, WITHOUT ROWID;
      """)
}
