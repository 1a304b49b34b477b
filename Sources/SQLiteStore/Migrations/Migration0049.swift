extension Migration {
  /// Contact groups, their members, and the versions of what members see of them.
  static let contactGroups = Migration(
    number: 49, name: "contact-groups",
    sql: """
      CREATE TABLE contact_groups (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        realm INTEGER NOT NULL,
        name TEXT NOT NULL,
        display_name TEXT NOT NULL,
        has_everyone INTEGER NOT NULL,
        UNIQUE (realm, name)
      ) STRICT;
      CREATE TABLE contact_group_members (
        group_id INTEGER NOT NULL,
        user INTEGER NOT NULL,
        PRIMARY KEY (group_id, user)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX contact_groups_of_user ON contact_group_members (user);
      CREATE TABLE shared_contacts_versions (
        user INTEGER PRIMARY KEY,
        version INTEGER NOT NULL
      ) STRICT;
      """)
}
