extension Migration {
  /// The nodes that users and pubsub services publish. The log says which item changed when; these tables have the present
  /// content, and an item is overwritten in place.
  /// - `nodes.user`: the owner, or the negative id of a service. `creator`, whose quota is charged with the items of a node, is
  ///   set in nodes of services.
  /// - `items.position`: that of the entry that published the item, which is the order of a node's items. `publisher` is set
  ///   if that is not the owner.
  /// - `node_affiliations`, `node_subscriptions`: of others than the owner; `address` is the bare form of `jid`. Pending
  ///   subscriptions are found by node: a service has many nodes, and a user owns few of them.
  static let nodeTables = """
    CREATE TABLE nodes (
      user INTEGER NOT NULL,
      node TEXT NOT NULL,
      configuration BLOB NOT NULL,
      created INTEGER NOT NULL,
      item_count INTEGER NOT NULL,
      byte_count INTEGER NOT NULL,
      creator TEXT,
      PRIMARY KEY (user, node)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX nodes_creator ON nodes (creator, user, byte_count) WHERE creator IS NOT NULL;

    CREATE TABLE items (
      id INTEGER PRIMARY KEY,
      user INTEGER NOT NULL,
      node TEXT NOT NULL,
      item TEXT NOT NULL,
      kind INTEGER NOT NULL,
      payload BLOB NOT NULL,
      position INTEGER NOT NULL,
      time INTEGER NOT NULL,
      publisher TEXT
    ) STRICT;
    CREATE UNIQUE INDEX items_item ON items (user, node, item);
    CREATE INDEX items_position ON items (user, node, position);

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
    CREATE INDEX node_subscriptions_pending ON node_subscriptions (user, state, node, jid);
    """
}
