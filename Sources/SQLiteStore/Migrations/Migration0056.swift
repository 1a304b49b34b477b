extension Migration {
  /// The names that the members of contact groups have in the rosters of those who see them.
  /// - `contact_groups.names_version`: `ContactGroup.namesVersion`. It is a position of its own, so that clients fetch
  ///   anew a roster whose version they have from before the names.
  static let sharedNames = Migration(
    number: 56, name: "shared-names",
    sql: """
      ALTER TABLE contact_groups ADD COLUMN names_version INTEGER NOT NULL DEFAULT 0;
      UPDATE log SET position = max(position, coalesce((SELECT max(p.position) FROM payloads p), 0)) + 1
        WHERE EXISTS (SELECT 1 FROM contact_groups);
      UPDATE contact_groups SET names_version = (SELECT l.position FROM log l);
      """)
}
