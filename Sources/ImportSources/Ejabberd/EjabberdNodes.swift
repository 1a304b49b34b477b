import Basics

/// The personal nodes of a dump with their items, in a temporary database until all of them are known.
final class EjabberdNodes {
  private let database: Database
  private let path: String
  private let insertNode: Database.Statement
  private let insertItem: Database.Statement
  private let insertAffiliation: Database.Statement
  private var nodes: Database.Statement?
  private var items: Database.Statement?
  private var isPastNodes = false

  init(_ path: String) throws(SourceFailure) {
    self.path = path
    database = try Database()
    try database.run(
      """
      PRAGMA journal_mode = OFF;
      CREATE TABLE nodes (number INTEGER PRIMARY KEY, owner TEXT, name TEXT, form TEXT);
      CREATE TABLE items (node INTEGER, id TEXT, time INTEGER, payload TEXT);
      CREATE TABLE affiliations (node INTEGER, jid TEXT, affiliation TEXT);
      BEGIN;
      """)
    insertNode = try database.prepare("INSERT OR REPLACE INTO nodes VALUES (?1, ?2, ?3, ?4)")
    insertItem = try database.prepare("INSERT INTO items VALUES (?1, ?2, ?3, ?4)")
    insertAffiliation = try database.prepare("INSERT INTO affiliations VALUES (?1, ?2, ?3)")
  }

  /// Adds a row of one of the tables; returns what is wrong with it.
  func add(_ record: [ErlangTerm]) throws(SourceFailure) -> String? {
    switch record[0].atom {
    case "pubsub_node":
      // A node of the service belongs to a domain, not to an account.
      guard record.count >= 7, record[1].tuple.count == 2, let number = record[2].integer else {
        return "pubsub_node: it is damaged"
      }
      guard let owner = EjabberdRecords.jid(record[1].tuple[0]), let name = record[1].tuple[1].text else { return nil }
      insertNode.bind(1, number)
      insertNode.bind(2, owner)
      insertNode.bind(3, name)
      insertNode.bind(4, Self.form(record[6].list))
      try insertNode.run()
    case "pubsub_item":
      guard record.count >= 6, let id = record[1].tuple.first?.text, let number = record[2].integer,
        let time = record[4].tuple.first.flatMap({ EjabberdRecords.time($0) })
      else { return "pubsub_item: it is damaged" }
      let payload = record[5].list.compactMap { EjabberdRecords.element($0, within: "") }
      guard payload.count == record[5].list.count else { return "pubsub_item: its payload is damaged" }
      insertItem.bind(1, number)
      insertItem.bind(2, id)
      insertItem.bind(3, time.milliseconds)
      insertItem.bind(4, payload.map(\.xml).joined())
      try insertItem.run()
    case "pubsub_state":
      guard record.count >= 5, let jid = EjabberdRecords.jid(record[1].tuple.first), let number = record[2].integer,
        let affiliation = record[4].atom, affiliation != "none", affiliation != "owner"
      else { return nil }
      insertAffiliation.bind(1, number)
      insertAffiliation.bind(2, jid)
      insertAffiliation.bind(3, affiliation.replacing("_", with: "-"))
      try insertAffiliation.run()
    default: break
    }
    return nil
  }

  /// Returns the next node, then the next item; `nil` at the end.
  func next() throws(SourceFailure) -> Reading? {
    if nodes == nil {
      try database.run(
        "COMMIT; CREATE INDEX of_node ON affiliations (node); CREATE INDEX items_of ON items (node, time)")
      nodes = try database.prepare("SELECT number, owner, name, form FROM nodes ORDER BY number")
      // A picture precedes its description.
      items = try database.prepare(
        """
        SELECT n.owner, n.name, n.form, i.id, i.payload FROM nodes n CROSS JOIN items i ON i.node = n.number
        ORDER BY n.name = 'urn:xmpp:avatar:metadata', n.number, i.time
        """)
    }
    while !isPastNodes, let nodes {
      guard try nodes.step() else {
        isPastNodes = true
        break
      }
      let (owner, name) = (nodes.text(1), nodes.text(2))
      if name == BookmarkList.node { continue }
      var affiliations: [String: String] = [:]
      let people = try database.prepare("SELECT jid, affiliation FROM affiliations WHERE node = ?1")
      people.bind(1, nodes.int(0))
      while try people.step() { affiliations[people.text(0)] = people.text(1) }
      return .record(
        .node(NodeRecord(owner: owner, name: name, form: nodes.text(3), affiliations: affiliations)),
        Place(file: path, key: "\(owner), node \(name)"))
    }
    guard let items, try items.step() else { return nil }
    let (owner, name, id) = (items.text(0), items.text(1), items.text(3))
    let place = Place(file: path, key: "\(owner), node \(name), item \(id)")
    let payload = items.text(4)
    if name == BookmarkList.node { return .record(.privateXML(ElementRecord(owner: owner, xml: payload)), place) }
    return .record(
      .item(
        ItemRecord(owner: owner, node: name, form: items.text(2), id: id, payload: payload.isEmpty ? nil : payload)),
      place)
  }

  /// The options of ejabberd's nodes that are fields of the same name (XEP-0060 16.4.4).
  private static let options: Set<String> = [
    "access_model", "publish_model", "persist_items", "max_items", "send_last_published_item", "roster_groups_allowed",
    "title", "deliver_payloads", "deliver_notifications", "notify_retract", "notify_delete", "notify_config",
  ]

  /// The atoms that data forms spell otherwise.
  private static let words = ["true": "1", "false": "0", "infinity": "max", "unlimited": "max"]

  static func form(_ list: [ErlangTerm]) -> String {
    var fields: [(String, [String])] = []
    for option in list where option.tuple.count == 2 {
      guard let name = option.tuple[0].atom, options.contains(name) else { continue }
      let value = option.tuple[1]
      let values =
        switch value {
        case .list(let terms): terms.compactMap(\.word)
        case .atom(let word): [words[word] ?? word]
        case .integer, .float, .bytes, .tuple: [value.word].compactMap(\.self)
        }
      fields.append((name, values))
    }
    return NodeOptions.form(fields)
  }
}
