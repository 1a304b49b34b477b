extension Migration {
  /// `nodes.creator`: who created a node of a pubsub service; their quota is charged with its items. The `user` of such
  /// a node is the service's id, which is negative. Pending subscriptions are found by node: a service has many nodes,
  /// and a user owns few of them. The index of them alone that was here before was not chosen by the engine.
  static let nodeCreators = Migration(
    number: 35, name: "node-creators",
    sql: """
      ALTER TABLE nodes ADD COLUMN creator TEXT;
      CREATE INDEX nodes_creator ON nodes (creator, user, byte_count) WHERE creator IS NOT NULL;
      DROP INDEX node_subscriptions_pending;
      CREATE INDEX node_subscriptions_pending ON node_subscriptions (user, state, node, jid);
      """)
}
