import Basics

/// The output of `pg_dump` in its default format: the rows of each table as lines of text behind a `COPY`. The rows of
/// tables that are read together go into a database of their own.
final class PostgresDump: EjabberdRows {
  private let lines: LineFile
  private let kinds: RecordKinds
  private let joined: Database
  private var copy: Copy?

  /// The table whose rows are being read; `table` is `nil` for one that is passed over.
  private struct Copy {
    var table: EjabberdTable?
    /// The place in a line of each of the table's columns.
    var places: [Int?] = []
    var columnCount = 0
    var insert: Database.Statement?
  }

  init(_ path: String, _ kinds: RecordKinds, _ joined: Database) throws(SourceFailure) {
    lines = try LineFile(path)
    self.kinds = kinds
    self.joined = joined
    try joined.run("PRAGMA journal_mode = OFF")
    for table in EjabberdTable.allCases where !table.isAlone {
      try joined.run("CREATE TABLE \(table.rawValue) (\(table.columns.map { "\($0) TEXT" }.joined(separator: ", ")))")
    }
    try joined.run("BEGIN")
  }

  var fraction: Double { lines.fraction }

  func next() throws(SourceFailure) -> EjabberdRow? {
    while true {
      let number = lines.line
      guard let line = try lines.next() else {
        guard copy == nil else { throw SourceFailure(Place(file: lines.path, line: number), "it ends within a table") }
        try joined.run(
          "COMMIT; CREATE INDEX a ON rostergroups (username, jid); CREATE INDEX b ON privacy_list (username, name);"
            + "CREATE INDEX c ON privacy_list_data (id); CREATE INDEX d ON pubsub_node_option (nodeid);"
            + "CREATE INDEX e ON pubsub_state (nodeid); CREATE INDEX f ON pubsub_item (nodeid)")
        return nil
      }
      guard let copy else {
        try begin(line, number)
        continue
      }
      if line.elementsEqual("\\.".utf8) {
        self.copy = nil
        continue
      }
      guard let table = copy.table else { continue }
      let fields = line.split(separator: 0x09, omittingEmptySubsequences: false)
      let place = Place(file: lines.path, line: number, key: table.rawValue)
      guard fields.count == copy.columnCount else {
        throw SourceFailure(place, "it has \(fields.count) fields in place of \(copy.columnCount)")
      }
      let values = copy.places.map { $0.map { Self.text(fields[$0]) } ?? "" }
      guard let insert = copy.insert else { return EjabberdRow(table: table, values: values, place: place) }
      for (index, value) in values.enumerated() { insert.bind(Int32(index + 1), value) }
      try insert.run()
    }
  }

  /// Takes a line that stands outside of tables' rows.
  private func begin(_ line: ArraySlice<UInt8>, _ number: Int) throws(SourceFailure) {
    if line.starts(with: "INSERT INTO".utf8) {
      throw SourceFailure(
        Place(file: lines.path, line: number), "its rows are INSERTs: write the dump without --inserts")
    }
    guard line.starts(with: "COPY ".utf8) else { return }
    let text = String(decoding: line, as: UTF8.self)
    guard text.hasSuffix(" FROM stdin;"), let open = text.firstIndex(of: "("), let close = text.lastIndex(of: ")")
    else {
      throw SourceFailure(Place(file: lines.path, line: number), "this COPY is not as pg_dump writes it")
    }
    let name = text[..<open].dropFirst(5).split(separator: ".").last.map { $0.filter { $0 != "\"" && $0 != " " } } ?? ""
    let columns = text[text.index(after: open)..<close].split(separator: ",").map {
      $0.filter { $0 != "\"" && $0 != " " }
    }
    var copy = Copy(columnCount: columns.count)
    if let table = EjabberdTable(rawValue: name), !table.kinds.isDisjoint(with: kinds) {
      copy.table = table
      copy.places = table.columns.map { columns.firstIndex(of: $0) }
      if !table.isAlone {
        let marks = table.columns.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
        copy.insert = try joined.prepare("INSERT INTO \(name) VALUES (\(marks))")
      }
    }
    self.copy = copy
  }

  /// Returns the text of a field (PostgreSQL's manual, COPY, "Text Format"); empty for NULL.
  static func text(_ field: ArraySlice<UInt8>) -> String {
    guard field.contains(0x5C) else { return String(decoding: field, as: UTF8.self) }
    if field.elementsEqual("\\N".utf8) { return "" }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(field.count)
    var rest = field
    while let byte = rest.popFirst() {
      guard byte == 0x5C, let escaped = rest.popFirst() else {
        bytes.append(byte)
        continue
      }
      switch escaped {
      case UInt8(ascii: "b"): bytes.append(8)
      case UInt8(ascii: "f"): bytes.append(12)
      case UInt8(ascii: "n"): bytes.append(10)
      case UInt8(ascii: "r"): bytes.append(13)
      case UInt8(ascii: "t"): bytes.append(9)
      case UInt8(ascii: "v"): bytes.append(11)
      default: bytes.append(escaped)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
