/// The tables of a dump, whichever database has written it. Rows of tables that are read together go into a database of
/// their own.
final class DumpTables {
  private let path: String
  private let kinds: RecordKinds
  private let joined: Database
  /// The column that tells the line of a row that is read together with others.
  static let line = "dump_line"

  /// The table whose rows are being read; `table` is `nil` for one that is passed over.
  struct Current {
    fileprivate(set) var table: EjabberdTable?
    /// The place in a row of each of the table's columns.
    fileprivate var places: [Int?] = []
    fileprivate let columnCount: Int
    fileprivate var insert: Database.Statement?
  }

  init(_ path: String, _ kinds: RecordKinds, _ joined: Database) throws(SourceFailure) {
    self.path = path
    self.kinds = kinds
    self.joined = joined
    try joined.run("PRAGMA journal_mode = OFF")
    for table in EjabberdTable.allCases where !table.isAlone {
      try joined.run(
        "CREATE TABLE \(table.rawValue) (\(table.columns.map { "\($0) TEXT" }.joined(separator: ", ")), \(Self.line) TEXT)"
      )
    }
    try joined.run("BEGIN")
  }

  /// - Parameter columns: those of the dump, in their order.
  func table(_ name: String, _ columns: [String]) throws(SourceFailure) -> Current {
    var current = Current(columnCount: columns.count)
    guard let table = EjabberdTable(rawValue: name), !table.kinds.isDisjoint(with: kinds) else { return current }
    current.table = table
    current.places = table.columns.map { columns.firstIndex(of: $0) }
    if !table.isAlone {
      let marks = (1...table.columns.count + 1).map { "?\($0)" }.joined(separator: ", ")
      current.insert = try joined.prepare("INSERT INTO \(name) VALUES (\(marks))")
    }
    return current
  }

  /// Takes a row; returns it if it is read by itself, or is damaged.
  ///
  /// - Parameter text: Returns the text of a field; empty for NULL.
  func row<Field>(
    _ fields: [Field], of current: Current, line: Int, _ text: (Field) -> String
  ) throws(SourceFailure) -> EjabberdRow? {
    guard let table = current.table else { return nil }
    let place = Place(file: path, line: line, key: table.rawValue)
    guard fields.count == current.columnCount else {
      return EjabberdRow(
        table: table, values: [], place: place,
        flaw: "it has \(fields.count) \(fields.count == 1 ? "field" : "fields") in place of \(current.columnCount)")
    }
    let values = current.places.map { $0.map { text(fields[$0]) } ?? "" }
    guard let insert = current.insert else { return EjabberdRow(table: table, values: values, place: place) }
    for (index, value) in (values + [String(line)]).enumerated() { insert.bind(Int32(index + 1), value) }
    try insert.run()
    return nil
  }

  /// Ends the dump: the rows that are read together are all there.
  func finish() throws(SourceFailure) {
    try joined.run(
      "COMMIT; CREATE INDEX a ON rostergroups (username, jid); CREATE INDEX b ON privacy_list (username, name);"
        + "CREATE INDEX c ON privacy_list_data (id); CREATE INDEX d ON pubsub_node_option (nodeid);"
        + "CREATE INDEX e ON pubsub_state (nodeid); CREATE INDEX f ON pubsub_item (nodeid)")
  }
}
