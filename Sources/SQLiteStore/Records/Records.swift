import CSQLite
import Dialogs

/// The records: a table for each kind, with a column for each field. Their statements are made from the kind, and each
/// connection keeps them under their text.
extension Reader {
  func records<Kind: Record>(_ query: RecordQuery<Kind>) throws -> [Kind] {
    let (condition, values) = query.clause
    let order = (query.order.map { [$0] } ?? Kind.key).map { $0.rawValue + (query.isDescending ? " DESC" : "") }
    let text = """
      SELECT \(Kind.list(Kind.Field.allCases)) FROM \(Kind.kind)\(condition) \
      ORDER BY \(order.joined(separator: ", ")) LIMIT ?
      """
    let limit = FieldValue.integer(query.limit.map { bound($0) } ?? -1)
    return try connection.named(text, values + [limit]).all { row in
      try Kind.decode((0..<Int32(Kind.Field.allCases.count)).map { row.field($0) })
    }
  }

  func count<Kind: Record>(_ query: RecordQuery<Kind>) throws -> Int {
    let (condition, values) = query.clause
    guard let limit = query.limit else {
      return try connection.named("SELECT count(*) FROM \(Kind.kind)\(condition)", values).first { Int($0.int(0)) } ?? 0
    }
    let text = "SELECT count(*) FROM (SELECT 1 FROM \(Kind.kind)\(condition) LIMIT ?)"
    return try connection.named(text, values + [.integer(bound(limit))]).first { Int($0.int(0)) } ?? 0
  }
}

extension Writer {
  func put<Kind: Record>(_ record: Kind) throws -> Kind {
    var values = record.fields
    let isNew = Kind.isNumbered && values[0] == .integer(0)
    if isNew { values[0] = .null }
    let changes = Kind.Field.allCases.filter { !Kind.key.contains($0) }
      .map { "\($0.rawValue) = excluded.\($0.rawValue)" }.joined(separator: ", ")
    let statement = try connection.named(
      """
      INSERT INTO \(Kind.kind) (\(Kind.list(Kind.Field.allCases))) VALUES (\(values.map { _ in "?" }.joined(separator: ", "))) \
      ON CONFLICT (\(Kind.list(Kind.key))) DO \(changes.isEmpty ? "NOTHING" : "UPDATE SET " + changes)
      """, values)
    try statement.run()
    guard isNew else { return record }
    values[0] = .integer(statement.lastNumber)
    return try Kind.decode(values)
  }

  func update<Kind: Record>(_ query: RecordQuery<Kind>, _ changes: [Kind.Field: FieldValue]) throws -> Int {
    let fields = Kind.Field.allCases.filter { changes[$0] != nil }
    let (condition, values) = query.clause
    let statement = try connection.named(
      "UPDATE \(Kind.kind) SET \(fields.map { $0.rawValue + " = ?" }.joined(separator: ", "))\(condition)",
      fields.map { changes[$0] ?? .null } + values)
    try statement.run()
    return Int(statement.changes)
  }

  func remove<Kind: Record>(_ query: RecordQuery<Kind>) throws -> Int {
    let (condition, values) = query.clause
    let statement = try connection.named("DELETE FROM \(Kind.kind)\(condition)", values)
    try statement.run()
    return Int(statement.changes)
  }
}

extension Record {
  fileprivate static func list(_ fields: some Sequence<Field>) -> String {
    // A key path would be created at each call, which costs as much as a short query.
    fields.map { $0.rawValue }.joined(separator: ", ")
  }

  fileprivate static func decode(_ fields: [FieldValue]) throws -> Self {
    var reader = FieldReader(kind, fields)
    do {
      return try Self(&reader)
    } catch let error as UnreadableRecord {
      throw StoreFailure.corrupt("a record of \(error.kind) cannot be read")
    }
  }
}

extension RecordQuery {
  /// The conditions as the end of a statement, and the values of its parameters.
  fileprivate var clause: (text: String, values: [FieldValue]) {
    var (text, values) = ("", [FieldValue]())
    for condition in conditions {
      text += (text.isEmpty ? " WHERE " : " AND ") + condition.field.rawValue
      let comparison: String
      switch condition.comparison {
      case .present:
        text += " IS NOT NULL"
        continue
      case .equal where condition.value == .null:
        text += " IS NULL"
        continue
      case .equal: comparison = "="
      case .above: comparison = ">"
      case .atLeast: comparison = ">="
      case .below: comparison = "<"
      case .atMost: comparison = "<="
      }
      text += " \(comparison) ?"
      values.append(condition.value)
    }
    return (text, values)
  }
}

extension Connection {
  /// Returns the statement with this text, with its parameters bound. The number of different texts must be bounded.
  fileprivate func named(_ text: String, _ values: [FieldValue]) throws(StoreFailure) -> Prepared {
    var statement = try named(text)
    for value in values { statement = try statement.bind(value) }
    return statement
  }
}

extension Prepared {
  fileprivate func field(_ column: Int32) -> FieldValue {
    switch sqlite3_column_type(raw, column) {
    case SQLITE_INTEGER: .integer(int(column))
    case SQLITE_TEXT: .text(text(column))
    case SQLITE_BLOB: .bytes(bytes(column))
    default: .null
    }
  }

  /// The number of the last row that this connection has inserted.
  fileprivate var lastNumber: Int64 { sqlite3_last_insert_rowid(sqlite3_db_handle(raw)) }
}

extension FieldValue: Bindable {
  func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    switch self {
    case .null: sqlite3_bind_null(statement, index)
    case .integer(let value): value.bind(to: statement, at: index)
    case .text(let value): value.bind(to: statement, at: index)
    case .bytes(let value): value.bind(to: statement, at: index)
    }
  }
}
