extension Migration {
  /// The nodes that users publish.
  ///
  /// The log says which item changed when; these tables have the present content. An item is overwritten in place.
  /// `position` is that of the entry that published it, which is the order of a node's items.
  static let pep = Migration(
    number: 4, name: "pep",
    sql: """
      CREATE TABLE nodes (
        user INTEGER NOT NULL,
        node TEXT NOT NULL,
        configuration BLOB NOT NULL,
        created INTEGER NOT NULL,
        item_count INTEGER NOT NULL,
        byte_count INTEGER NOT NULL,
        PRIMARY KEY (user, node)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE items (
        id INTEGER PRIMARY KEY,
        user INTEGER NOT NULL,
        node TEXT NOT NULL,
        item TEXT NOT NULL,
        kind INTEGER NOT NULL,
        payload BLOB NOT NULL,
        position INTEGER NOT NULL,
        time INTEGER NOT NULL
      ) STRICT;
      CREATE UNIQUE INDEX items_item ON items (user, node, item);
      CREATE INDEX items_position ON items (user, node, position);
      """)
}
