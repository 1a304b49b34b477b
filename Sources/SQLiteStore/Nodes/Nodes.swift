import Addresses
import Basics
import Dialogs

/// The nodes that users publish.
extension Reader {
  func node(_ name: String, of owner: UserID) throws -> Node? {
    try connection(.node, owner, name).first { try Self.node($0, of: owner) }
  }

  func nodes(of owner: UserID, after: String?, limit: Int) throws -> [Node] {
    try connection(.nodes, owner, after ?? "", bound(limit)).all { try Self.node($0, of: owner) }
  }

  func published(by owner: UserID, creator: BareJID?) throws -> (nodes: Int, bytes: Int) {
    let found =
      try creator.map { try connection(.publishedByCreator, owner, $0.description) } ?? connection(.published, owner)
    return try found.first { (Int($0.int(0)), Int($0.int(1))) } ?? (0, 0)
  }

  private static func node(_ row: Prepared, of owner: UserID) throws -> Node {
    Node(
      owner: owner, name: row.text(0), configuration: try FactCoding.decode(configuration: row.bytes(1)),
      createdAt: Timestamp(milliseconds: row.int(2)), itemCount: Int(row.int(3)), byteCount: Int(row.int(4)),
      creator: row.textOrNil(5).flatMap { BareJID(stored: $0) })
  }

  func item(_ id: String, in node: String, of owner: UserID) throws -> NodeItem? {
    try connection(.item, owner, node, id).first(Self.item)
  }

  func itemIDs(in node: String, of owner: UserID) throws -> [String] {
    try connection(.itemIDs, owner, node).all { $0.text(0) }
  }

  func itemIDs(newestIn node: String, of owner: UserID, limit: Int) throws -> [String] {
    try connection(.newestItemIDs, owner, node, bound(limit)).all { $0.text(0) }
  }

  func items(
    in node: String, of owner: UserID, after: Position, before: Position, newest: Bool, limit: Int
  ) throws -> [NodeItem] {
    let found = try connection(newest ? .newestItems : .oldestItems, owner, node, bound(limit), after, before).all(
      Self.item)
    return newest ? found.reversed() : found
  }

  private static func item(_ row: Prepared) throws -> NodeItem {
    NodeItem(
      id: row.text(0), content: try FactCoding.decode(content: row.bytes(2), kind: row.int(1)),
      position: Position(row.int(3)), time: Timestamp(milliseconds: row.int(4)),
      publisher: row.textOrNil(5).flatMap { BareJID(stored: $0) })
  }
}

extension Writer {
  func put(_ node: Node) throws {
    try connection(
      .putNode, node.owner, node.name, FactCoding.encode(configuration: node.configuration), node.createdAt,
      node.itemCount
    ).bind(node.byteCount, node.creator?.description).run()
  }

  func put(_ item: NodeItem, in node: String, of owner: UserID) throws {
    let (kind, payload) = try FactCoding.encode(content: item.content)
    try connection(.putItem, owner, node, item.id, kind, payload, item.position).bind(
      item.time, item.publisher?.description
    ).run()
  }

  func removeItem(_ id: String, in node: String, of owner: UserID) throws {
    try connection(.deleteItem, owner, node, id).run()
  }

  func removeItems(in node: String, of owner: UserID, oldest count: Int) throws -> [Position] {
    if count <= 0 { return [] }
    return try connection(.deleteItems, owner, node, count - 1).all { Position($0.int(0)) }
  }

  func removeNode(_ name: String, of owner: UserID) throws {
    _ = try removeItems(in: name, of: owner, oldest: .max)
    try removePeople(of: name, of: owner)
    try connection(.deleteNode, owner, name).run()
  }
}

extension Query {
  private static let nodeColumns = "node, configuration, created, item_count, byte_count, creator"
  fileprivate static let node = Query("SELECT \(nodeColumns) FROM nodes WHERE user = ?1 AND node = ?2")
  fileprivate static let nodes = Query(
    "SELECT \(nodeColumns) FROM nodes WHERE user = ?1 AND node > ?2 ORDER BY node LIMIT ?3")
  private static let publishedBytes = "SELECT count(*), coalesce(sum(byte_count), 0) FROM nodes"
  fileprivate static let published = Query("\(publishedBytes) WHERE user = ?1 AND creator IS NULL")
  fileprivate static let publishedByCreator = Query("\(publishedBytes) WHERE user = ?1 AND creator = ?2")
  fileprivate static let putNode = Query(
    """
    INSERT INTO nodes (user, node, configuration, created, item_count, byte_count, creator)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    ON CONFLICT (user, node) DO UPDATE SET
      configuration = excluded.configuration, item_count = excluded.item_count, byte_count = excluded.byte_count
    """)
  fileprivate static let deleteNode = Query("DELETE FROM nodes WHERE user = ?1 AND node = ?2")

  private static let itemColumns = "item, kind, payload, position, time, publisher"
  fileprivate static let item = Query(
    "SELECT \(itemColumns) FROM items WHERE user = ?1 AND node = ?2 AND item = ?3")
  static let itemIDs = Query("SELECT item FROM items WHERE user = ?1 AND node = ?2 ORDER BY item")
  static let newestItemIDs = Query(
    "SELECT item FROM items WHERE user = ?1 AND node = ?2 ORDER BY position DESC LIMIT ?3")
  private static func items(_ order: String) -> Query {
    Query(
      """
      SELECT \(itemColumns) FROM items WHERE user = ?1 AND node = ?2 AND position > ?4 AND position < ?5
      ORDER BY position \(order) LIMIT ?3
      """)
  }
  fileprivate static let oldestItems = items("ASC")
  fileprivate static let newestItems = items("DESC")
  fileprivate static let putItem = Query(
    """
    INSERT INTO items (user, node, item, kind, payload, position, time, publisher)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
    ON CONFLICT (user, node, item) DO UPDATE SET
      kind = excluded.kind, payload = excluded.payload, position = excluded.position, time = excluded.time,
      publisher = excluded.publisher
    """)
  fileprivate static let deleteItem = Query("DELETE FROM items WHERE user = ?1 AND node = ?2 AND item = ?3")
  /// ?3 is the number of oldest items to skip before the newest item to delete; if there are not more, all are deleted.
  fileprivate static let deleteItems = Query(
    """
    DELETE FROM items WHERE user = ?1 AND node = ?2 AND position <= coalesce(
      (SELECT position FROM items WHERE user = ?1 AND node = ?2 ORDER BY position LIMIT 1 OFFSET ?3),
      9223372036854775807)
    RETURNING position
    """)
}
