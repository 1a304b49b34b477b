extension Migration {
  /// The names that the members of contact groups have in the rosters of those who see them.
  /// - `contact_groups.names_version`: `ContactGroup.namesVersion`.
  static let sharedNames = Migration(
    number: 56, name: "shared-names",
    sql: """
      ALTER TABLE contact_groups ADD COLUMN names_version INTEGER NOT NULL DEFAULT 0;
      """)
}
