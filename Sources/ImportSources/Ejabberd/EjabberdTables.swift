import Basics

/// One pass over ejabberd's SQL tables.
final class EjabberdTables: RecordReader {
  private let rows: any EjabberdRows
  /// The database with the tables that are read together.
  private let joined: Database
  private let path: String
  private let domain: String?
  private let kinds: RecordKinds
  private let groups = EjabberdGroups()
  private let accounts: EjabberdAccounts?
  private var waiting: [Reading] = []
  /// The queries that follow the rows, the next one last; `nil` before.
  private var queries: [Query]?
  private var query: (read: (Database.Statement) throws(SourceFailure) -> [Reading], rows: Database.Statement)?

  private struct Query {
    let tables: [EjabberdTable]
    let sql: String
    let read: (Database.Statement) throws(SourceFailure) -> [Reading]
  }

  init(
    _ rows: any EjabberdRows, _ joined: Database, _ path: String, _ domain: String?, _ kinds: RecordKinds
  ) throws(SourceFailure) {
    accounts = kinds.contains(.accounts) ? try EjabberdAccounts() : nil
    self.rows = rows
    self.joined = joined
    self.path = path
    self.domain = domain
    self.kinds = kinds
  }

  var fraction: Double { rows.fraction }

  func next() throws(SourceFailure) -> Reading? {
    while true {
      if let reading = waiting.popLast() { return reading }
      if queries == nil {
        if let row = try rows.next() {
          waiting = try read(row).reversed()
          continue
        }
        queries = kinds.contains(.settings) ? try [items(), nodes(), privacy(), contacts()] : []
      }
      if let query {
        if try query.rows.step() {
          waiting = try query.read(query.rows).reversed()
        } else {
          self.query = nil
        }
        continue
      }
      guard let next = queries?.popLast() else {
        if let account = try accounts?.next() { return account }
        return kinds.contains(.settings) ? groups.next(path) : nil
      }
      var isThere = true
      for table in next.tables where isThere { isThere = try joined.hasTable(table.rawValue) }
      if isThere { query = (next.read, try joined.prepare(next.sql)) }
    }
  }

  /// Returns the domain of a row.
  private func host(_ named: String) throws(SourceFailure) -> String {
    if !named.isEmpty { return named }
    guard let domain else {
      throw SourceFailure(Place(file: path), "its tables do not tell the domain of the users: name it with --domain")
    }
    return domain
  }

  private func read(_ row: EjabberdRow) throws(SourceFailure) -> [Reading] {
    var place = row.place
    if let text = row.flaw {
      switch row.table {
      case .room: return flaw(place, text, .rooms)
      case .privateStorage: return flaw(place, text, .settings)
      case .users, .archive, .spool, .vcard, .group, .groupUser, .contacts, .contactGroups, .defaultList, .lists,
        .rules, .nodes, .options, .people, .items:
        return [.flaw(place, text)]
      }
    }
    if row.table == .room {
      guard let options = Self.term(row[3]) else { return flaw(place, "its opts are no term", .rooms) }
      return EjabberdRooms.read(options, of: "\(row[1])@\(row[2])", place, kinds)
    }
    let host = try host(row[0])
    // A room's archive has the room's whole address.
    let owner = row[1].contains("@") ? row[1] : "\(row[1])@\(host)"
    place.key = "\(place.key ?? ""), \(owner)"
    switch row.table {
    case .users:
      guard let accounts else { return [] }
      let found = account(row, owner)
      let other = try accounts.add(found.account, place)
      return [found.flaw, other].compactMap { $0 }.map { .flaw(place, $0) }
    case .archive: return archived(row, owner, place)
    case .spool:
      guard let stanza = XMLNode(parsing: row[2], within: "jabber:client") else {
        return [.flaw(place, "its xml is damaged")]
      }
      guard let time = MessageCopies.delay(of: stanza, for: owner) else {
        return [.flaw(place, "its xml tells no time")]
      }
      return [EjabberdRecords.copy(stanza, of: owner, at: time, isOffline: true, place)]
    case .vcard:
      guard let element = XMLNode(parsing: row[2], within: "vcard-temp") else {
        return [.flaw(place, "its vcard is no element")]
      }
      return [.record(.vCard(ElementRecord(owner: owner, xml: element.xml)), place)]
    case .privateStorage: return try privateXML(row, owner, place)
    case .group:
      guard let options = Self.term(row[2]) else { return [.flaw(place, "its opts are no term")] }
      groups.add(row[1], of: host, options)
      return []
    case .groupUser:
      groups.add(row[1], to: row[2], of: host)
      return []
    case .room, .contacts, .contactGroups, .defaultList, .lists, .rules, .nodes, .options, .people, .items: return []
    }
  }

  private func archived(_ row: EjabberdRow, _ owner: String, _ place: Place) -> [Reading] {
    guard let microseconds = Int64(row[2]) else { return [.flaw(place, "its timestamp is damaged")] }
    guard let stanza = XMLNode(parsing: row[3], within: "jabber:client") else {
      return [.flaw(place, "its xml is damaged")]
    }
    let time = Timestamp(milliseconds: microseconds / 1_000)
    if row[4] == "groupchat" {
      return [EjabberdRecords.ofRoom(stanza, owner, at: time, nick: row[5], author: row[6], place)]
    }
    return [EjabberdRecords.copy(stanza, of: owner, at: time, isOffline: false, place)]
  }

  /// Reads private data, among which an account's ban is.
  private func privateXML(_ row: EjabberdRow, _ owner: String, _ place: Place) throws(SourceFailure) -> [Reading] {
    // Only bans are read with the accounts.
    if !kinds.contains(.settings), !row[2].contains(XMLNode.banNamespace) { return [] }
    guard let element = XMLNode(parsing: row[2], within: "") else {
      return flaw(place, "its data is no element", .settings)
    }
    if element.isBan {
      if let accounts { try accounts.ban(owner) }
      return []
    }
    guard kinds.contains(.settings) else { return [] }
    return [.record(.privateXML(ElementRecord(owner: owner, xml: element.xml)), place)]
  }

  /// Notes a flaw of what is read in two passes, in one of them.
  private func flaw(_ place: Place, _ text: String, _ kind: RecordKinds) -> [Reading] {
    kinds.isSuperset(of: kind) ? [.flaw(place, text)] : []
  }

  /// Returns an account, and what there is to report of it. A row with any part of SCRAM keys has no plain password.
  private func account(_ row: EjabberdRow, _ owner: String) -> (account: AccountRecord, flaw: String?) {
    var account = AccountRecord(jid: owner)
    // Newer versions name the hash by a number (`hash_to_num` in ejabberd_auth_sql), which is 1 for a plain password and 0
    // for a row of an older version.
    let mechanisms = ["2": "SCRAM-SHA-1", "3": "SCRAM-SHA-256", "4": "SCRAM-SHA-512"]
    let iterations = Int(row[5]) ?? 0
    if row[3].isEmpty, row[4].isEmpty, iterations == 0, mechanisms[row[6]] == nil {
      let flaw = account.take(password: row[2])
      return (account, flaw)
    }
    var (stored, mechanism) = (row[2], mechanisms[row[6]] ?? "SCRAM-SHA-1")
    for (prefix, name) in [("sha256:", "SCRAM-SHA-256"), ("sha512:", "SCRAM-SHA-512")] where stored.hasPrefix(prefix) {
      (stored, mechanism) = (String(stored.dropFirst(prefix.count)), name)
    }
    guard iterations > 0, !row[3].isEmpty, !row[4].isEmpty else {
      return (account, "its SCRAM keys are not complete: \(AccountRecord.locked)")
    }
    account.scram = [
      SCRAMRecord(mechanism: mechanism, iterations: iterations, salt: row[4], storedKey: stored, serverKey: row[3])
    ]
    return (account, nil)
  }

  // MARK: What is read together

  private static func term(_ text: String) -> ErlangTerm? {
    var parser = ErlangParser(Array((text + ".").utf8))
    return try? parser.term()
  }

  /// Returns the expression for the domain of a table's rows.
  private func hosts(_ table: EjabberdTable, as name: String) throws(SourceFailure) -> String {
    guard try joined.hasTable(table.rawValue), try joined.columns(of: table.rawValue).contains("server_host") else {
      return "''"
    }
    return "\(name).server_host"
  }

  /// Returns the expression for the line of a table's rows; 0 in a database.
  private func lines(_ table: EjabberdTable, as name: String) throws(SourceFailure) -> String {
    guard try joined.hasTable(table.rawValue), try joined.columns(of: table.rawValue).contains(DumpTables.line) else {
      return "0"
    }
    return "\(name).\(DumpTables.line)"
  }

  private func place(_ line: String, _ key: String) -> Place {
    Place(file: path, line: Int(line).flatMap { $0 > 0 ? $0 : nil }, key: key)
  }

  /// Returns the condition that rows of two tables are of the same domain.
  private func sameHost(_ table: EjabberdTable) throws(SourceFailure) -> String {
    let one = try hosts(table, as: "a")
    return one == "''" ? "" : "AND a.server_host = b.server_host"
  }

  private func contacts() throws(SourceFailure) -> Query {
    // The separator is no character of XML.
    let sql = """
      SELECT \(try hosts(.contacts, as: "a")), a.username, a.jid, a.nick, a.subscription, a.ask,
        (SELECT group_concat(b.grp, char(31)) FROM rostergroups b
          WHERE b.username = a.username AND b.jid = a.jid \(try sameHost(.contacts))),
        \(try lines(.contacts, as: "a"))
      FROM rosterusers a
      """
    return Query(tables: [.contacts, .contactGroups], sql: sql) { [self] rows throws(SourceFailure) in
      let (owner, jid, ask) = ("\(rows.text(1))@\(try host(rows.text(0)))", rows.text(2), rows.text(5))
      let place = self.place(rows.text(7), "rosterusers, \(owner) and \(jid)")
      let states = ["B": "both", "T": "to", "F": "from", "N": "none"]
      guard let subscription = states[rows.text(4)] else { return [.flaw(place, "its subscription is damaged")] }
      var found: [Reading] = []
      // A request alone makes no item (RFC 6121 A.1).
      if subscription != "none" || ask != "I" {
        found.append(
          .record(
            .contact(
              ContactRecord(
                owner: owner, jid: jid, name: rows.text(3).isEmpty ? nil : rows.text(3),
                groups: rows.text(6).split(separator: "\u{1F}").map(String.init), subscription: subscription,
                asks: ["O", "B", "S"].contains(ask))), place))
      }
      if ask == "I" || ask == "B" { found.append(.record(.request(RequestRecord(owner: owner, from: jid)), place)) }
      return found
    }
  }

  private func privacy() throws(SourceFailure) -> Query {
    var rules: Database.Statement?
    if try joined.hasTable("privacy_list_data"), try joined.hasTable("privacy_list") {
      rules = try joined.prepare(
        """
        SELECT r.t, r.value, r.action, r.ord, r.match_all FROM privacy_list a JOIN privacy_list_data r ON r.id = a.id
        WHERE a.username = ?1 AND a.name = ?2 AND \(try hosts(.lists, as: "a")) = ?3
        """)
    }
    let sql = """
      SELECT \(try hosts(.defaultList, as: "a")), a.username, a.name, \(try lines(.defaultList, as: "a"))
      FROM privacy_default_list a
      """
    return Query(tables: [.defaultList], sql: sql) { [self, rules] rows throws(SourceFailure) in
      guard let rules else { return [] }
      let owner = "\(rows.text(1))@\(try host(rows.text(0)))"
      let place = self.place(rows.text(3), "privacy_default_list, \(owner)")
      rules.reset()
      rules.bind(1, rows.text(1))
      rules.bind(2, rows.text(2))
      rules.bind(3, rows.text(0))
      var found: [PrivacyLists.Rule] = []
      let types = ["j": "jid", "g": "group", "s": "subscription"]
      while try rules.step() {
        found.append(
          PrivacyLists.Rule(
            type: types[rules.text(0)], value: rules.text(1), isDenied: rules.text(2) == "d",
            isPartial: !["1", "t", "true"].contains(rules.text(4)), order: Int(rules.int(3))))
      }
      let blocks = PrivacyLists(rules: found).blocks()
      return (blocks.jids.isEmpty ? [] : [.record(.block(BlockRecord(owner: owner, jids: blocks.jids)), place)])
        + blocks.flaws.map { .flaw(place, "privacy: \($0)") }
    }
  }

  private func nodes() throws(SourceFailure) -> Query {
    let forms = try forms()
    let people =
      try joined.hasTable("pubsub_state")
      ? joined.prepare("SELECT jid, affiliation FROM pubsub_state WHERE nodeid = ?1") : nil
    let sql = """
      SELECT host, node, nodeid, \(try lines(.nodes, as: "a")) FROM pubsub_node a WHERE host LIKE '%@%' ORDER BY nodeid + 0
      """
    return Query(tables: [.nodes], sql: sql) { [self] rows throws(SourceFailure) in
      let (owner, name) = (rows.text(0), rows.text(1))
      if name == BookmarkList.node { return [] }
      var affiliations: [String: String] = [:]
      let words = ["m": "member", "p": "publisher", "u": "publish-only", "c": "outcast"]
      people?.reset()
      people?.bind(1, rows.text(2))
      while let people, try people.step() {
        if let word = words[people.text(1)] { affiliations[MessageCopies.bare(people.text(0))] = word }
      }
      return [
        .record(
          .node(NodeRecord(owner: owner, name: name, form: try forms(rows.text(2)), affiliations: affiliations)),
          place(rows.text(3), "\(owner), node \(name)"))
      ]
    }
  }

  private func items() throws(SourceFailure) -> Query {
    let forms = try forms()
    // A picture precedes its description.
    let sql = """
      SELECT n.host, n.node, n.nodeid, i.itemid, i.payload, \(try lines(.items, as: "i"))
      FROM pubsub_node n JOIN pubsub_item i ON i.nodeid = n.nodeid
      WHERE n.host LIKE '%@%' ORDER BY n.node = 'urn:xmpp:avatar:metadata', n.nodeid + 0, i.modification
      """
    return Query(tables: [.nodes, .items], sql: sql) { [self] rows throws(SourceFailure) in
      let (owner, name, id) = (rows.text(0), rows.text(1), rows.text(3))
      let place = self.place(rows.text(5), "\(owner), node \(name), item \(id)")
      let payload = rows.text(4)
      guard let element = XMLNode(parsing: payload, within: "") ?? (payload.isEmpty ? XMLNode("", "") : nil) else {
        return [.flaw(place, "its payload is damaged")]
      }
      if name == BookmarkList.node {
        return [.record(.privateXML(ElementRecord(owner: owner, xml: element.xml)), place)]
      }
      return [
        .record(
          .item(
            ItemRecord(
              owner: owner, node: name, form: try forms(rows.text(2)), id: id,
              payload: payload.isEmpty ? nil : element.xml)), place)
      ]
    }
  }

  /// Returns the function that gives a node's configuration.
  private func forms() throws(SourceFailure) -> (String) throws(SourceFailure) -> String? {
    guard try joined.hasTable("pubsub_node_option") else { return { _ in nil } }
    let options = try joined.prepare("SELECT name, val FROM pubsub_node_option WHERE nodeid = ?1")
    return { node throws(SourceFailure) in
      options.reset()
      options.bind(1, node)
      var terms: [ErlangTerm] = []
      while try options.step() {
        let value = Self.term(options.text(1)) ?? .bytes(Array(options.text(1).utf8))
        terms.append(.tuple([.atom(options.text(0)), value]))
      }
      return EjabberdNodes.form(terms)
    }
  }
}
