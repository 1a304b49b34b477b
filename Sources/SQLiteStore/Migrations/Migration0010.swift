extension Migration {
  /// The affiliations and subscriptions of others to a user's nodes, and the publisher of an item if that is not the
  /// owner. `address` is the bare form of `jid`.
  static let nodePeople = Migration(
    number: 10, name: "node-people",
    sql: """
      CREATE TABLE node_affiliations (
        user INTEGER NOT NULL,
        node TEXT NOT NULL,
        address TEXT NOT NULL,
        affiliation INTEGER NOT NULL,
        PRIMARY KEY (user, node, address)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX node_affiliations_address ON node_affiliations (address, user);

      CREATE TABLE node_subscriptions (
        user INTEGER NOT NULL,
        node TEXT NOT NULL,
        jid TEXT NOT NULL,
        address TEXT NOT NULL,
        state INTEGER NOT NULL,
        paused INTEGER NOT NULL,
        PRIMARY KEY (user, node, jid)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX node_subscriptions_address ON node_subscriptions (address, user);
      CREATE INDEX node_subscriptions_pending ON node_subscriptions (user) WHERE state = 1;

      ALTER TABLE items ADD COLUMN publisher TEXT;
      """)
}
