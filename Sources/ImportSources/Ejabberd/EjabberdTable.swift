/// The SQL tables of ejabberd (23.01) that are read.
enum EjabberdTable: String, CaseIterable {
  case users, archive, spool, vcard
  case privateStorage = "private_storage"
  case room = "muc_room"
  case group = "sr_group"
  case groupUser = "sr_user"
  // These are read together, by queries.
  case contacts = "rosterusers"
  case contactGroups = "rostergroups"
  case defaultList = "privacy_default_list"
  case lists = "privacy_list"
  case rules = "privacy_list_data"
  case nodes = "pubsub_node"
  case options = "pubsub_node_option"
  case people = "pubsub_state"
  case items = "pubsub_item"

  /// The kinds of records for which it is read.
  var kinds: RecordKinds {
    switch self {
    case .users: .accounts
    case .archive, .spool: .copies
    case .room: [.rooms, .settings]
    // It has the bans of accounts, too.
    case .privateStorage: [.accounts, .settings]
    case .vcard, .group, .groupUser, .contacts, .contactGroups, .defaultList, .lists, .rules, .nodes,
      .options, .people, .items:
      .settings
    }
  }

  /// Whether its rows are read by themselves.
  var isAlone: Bool {
    switch self {
    case .users, .archive, .spool, .vcard, .privateStorage, .room, .group, .groupUser: true
    case .contacts, .contactGroups, .defaultList, .lists, .rules, .nodes, .options, .people, .items: false
    }
  }

  /// The columns that are read. The first names the domain in the newer schema.
  var columns: [String] {
    ["server_host"]
      + {
        switch self {
        case .users: ["username", "password", "serverkey", "salt", "iterationcount", "type"]
        case .archive: ["username", "timestamp", "xml", "kind", "nick", "bare_peer", "id"]
        case .spool: ["username", "xml", "seq"]
        case .vcard: ["username", "vcard"]
        case .privateStorage: ["username", "data"]
        case .room: ["name", "host", "opts"]
        case .group: ["name", "opts"]
        case .groupUser: ["jid", "grp"]
        case .contacts: ["username", "jid", "nick", "subscription", "ask"]
        case .contactGroups: ["username", "jid", "grp"]
        case .defaultList: ["username", "name"]
        case .lists: ["username", "name", "id"]
        case .rules: ["id", "t", "value", "action", "ord", "match_all"]
        case .nodes: ["host", "node", "nodeid"]
        case .options: ["nodeid", "name", "val"]
        case .people: ["nodeid", "jid", "affiliation"]
        case .items: ["nodeid", "itemid", "modification", "payload"]
        }
      }()
  }
}

struct EjabberdRow {
  let table: EjabberdTable
  /// The values of the table's columns; empty for NULL, and for a column that the table does not have.
  let values: [String]
  let place: Place
  /// The reason why it cannot be read; there are no values then.
  var flaw: String?

  subscript(_ column: Int) -> String { values[column] }
}

/// The rows of the tables that are read by themselves.
protocol EjabberdRows: AnyObject {
  func next() throws(SourceFailure) -> EjabberdRow?
  var fraction: Double { get }
}

/// Those of a SQLite database.
final class EjabberdTableRows: EjabberdRows {
  private let database: Database
  private let path: String
  private var tables: [EjabberdTable]
  private let count: Int
  private var table: (table: EjabberdTable, rows: Database.Statement)?

  init(_ database: Database, _ path: String, _ kinds: RecordKinds) throws(SourceFailure) {
    self.database = database
    self.path = path
    tables = EjabberdTable.allCases.filter { $0.isAlone && !$0.kinds.isDisjoint(with: kinds) }.reversed()
    count = tables.count
  }

  var fraction: Double { Double(count - tables.count) / Double(max(1, count)) }

  func next() throws(SourceFailure) -> EjabberdRow? {
    while true {
      if let (table, rows) = table {
        if try rows.step() {
          let columns = table.columns
          let values = columns.indices.map { rows.text(Int32($0)) }
          return EjabberdRow(
            table: table, values: values,
            place: Place(file: path, key: "\(table.rawValue), row \(rows.int(Int32(columns.count)))"))
        }
        self.table = nil
      }
      guard let next = tables.popLast() else { return nil }
      guard try database.hasTable(next.rawValue) else { continue }
      let known = try database.columns(of: next.rawValue)
      let columns = next.columns.map { known.contains($0) ? "\"\($0)\"" : "''" }.joined(separator: ", ")
      table = (next, try database.prepare("SELECT \(columns), rowid FROM \(next.rawValue)"))
    }
  }
}
