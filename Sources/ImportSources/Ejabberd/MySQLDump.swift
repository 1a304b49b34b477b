import Basics

/// The output of `mysqldump` or `mariadb-dump` in its default format: `INSERT`s of many rows, which MySQL writes into one line
/// and MariaDB into one line each. The order of their columns is that of `CREATE TABLE`.
final class MySQLDump: EjabberdRows {
  private let lines: LineFile
  private let tables: DumpTables
  /// The columns of the tables that were created, and of the one that is being created.
  private var columns: [String: [String]] = [:]
  private var creating: String?
  private var current: DumpTables.Current?
  private var rows = MySQLRows()
  /// The number of the line of the rows.
  private var number = 0

  init(_ path: String, _ kinds: RecordKinds, _ joined: Database) throws(SourceFailure) {
    lines = try LineFile(path)
    tables = try DumpTables(path, kinds, joined)
  }

  var fraction: Double { lines.fraction }

  func next() throws(SourceFailure) -> EjabberdRow? {
    while true {
      if let current, !rows.isAtEnd {
        if current.table == nil {
          if rows.skip() { self.current = nil }
        } else if let row = try row(of: current) {
          return row
        }
        continue
      }
      number = lines.line
      guard let line = try lines.next() else {
        guard current == nil, creating == nil else { throw failure("it ends within a table") }
        try tables.finish()
        return nil
      }
      if current != nil {
        rows = MySQLRows(Array(line))
      } else {
        try begin(line)
      }
    }
  }

  private func row(of current: DumpTables.Current) throws(SourceFailure) -> EjabberdRow? {
    let (fields, isLast): ([String], Bool)
    do throws(MySQLRows.Flaw) { (fields, isLast) = try rows.next() } catch { throw failure(error.text) }
    if isLast {
      self.current = nil
      rows = MySQLRows()
    }
    return try tables.row(fields, of: current, line: number) { $0 }
  }

  /// Takes a line that stands outside of tables' rows.
  private func begin(_ text: ArraySlice<UInt8>) throws(SourceFailure) {
    if let table = creating {
      if text.starts(with: "  `".utf8) {
        columns[table, default: []].append(Self.names(text.dropFirst(2)).first ?? "")
      } else if text.starts(with: ")".utf8) {
        creating = nil
      }
    } else if text.starts(with: "CREATE TABLE `".utf8) {
      let name = Self.names(text).first ?? ""
      (creating, columns[name]) = (name, [])
    } else if text.starts(with: "INSERT INTO `".utf8) {
      try beginRows(text)
    }
  }

  private func beginRows(_ text: ArraySlice<UInt8>) throws(SourceFailure) {
    // With --complete-insert the columns stand before the rows; no name has one of these characters.
    guard let values = text.firstRange(of: " VALUES".utf8) else { throw failure("an INSERT without VALUES") }
    var names = Self.names(text[..<values.lowerBound])
    let name = names.removeFirst()
    guard let all = names.isEmpty ? columns[name] : names else {
      throw failure("the columns of \(Line.safe(name)) are not told: write the dump with CREATE TABLE")
    }
    current = try tables.table(name, all)
    self.rows = MySQLRows(Array(text[values.upperBound...]))
  }

  /// Returns the names within backticks.
  private static func names(_ text: ArraySlice<UInt8>) -> [String] {
    text.split(separator: UInt8(ascii: "`"), omittingEmptySubsequences: false).enumerated().filter {
      $0.offset % 2 == 1
    }
    .map { String(decoding: $0.element, as: UTF8.self) }
  }

  private func failure(_ text: String) -> SourceFailure { SourceFailure(Place(file: lines.path, line: number), text) }
}

/// The rows of a line: `(1,'text',NULL),…;`.
private struct MySQLRows {
  private var text: ByteCursor

  init(_ bytes: [UInt8] = []) {
    text = ByteCursor(bytes, line: 1)
    text.skipBlanks()
  }

  struct Flaw: Error {
    let text: String
  }

  var isAtEnd: Bool { text.isAtEnd }

  /// Passes over the rest of the line, and returns whether it ends the statement.
  mutating func skip() -> Bool {
    text.at = text.bytes.count
    return text.bytes.last == UInt8(ascii: ";")
  }

  /// Returns the values of the next row, and whether it is the statement's last one.
  mutating func next() throws(Flaw) -> (fields: [String], isLast: Bool) {
    var fields: [String] = []
    guard text.take("(") else { throw Flaw(text: "a row does not begin with '('") }
    repeat { fields.append(try value()) } while text.take(",")
    guard text.take(")") else { throw Flaw(text: "a value is not followed by ',' or ')'") }
    if text.take(",") {
      text.skipBlanks()
      return (fields, false)
    }
    guard text.take(";") else { throw Flaw(text: "a row is not followed by ',' or ';'") }
    return (fields, true)
  }

  /// Returns the text of a value (MySQL's manual, 9.1); empty for NULL.
  private mutating func value() throws(Flaw) -> String {
    // The values of binary columns are marked so.
    _ = text.take("_binary ")
    if text.byte == UInt8(ascii: "'") { return try quoted() }
    let word = text.takeWhile { $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: ")") }
    if word.elementsEqual("NULL".utf8) { return "" }
    guard word.starts(with: "0x".utf8) else { return String(decoding: word, as: UTF8.self) }
    let digits = word.dropFirst(2).compactMap { Hex.value(ofDigit: $0) }
    guard digits.count == word.count - 2, digits.count % 2 == 0 else { throw Flaw(text: "no hexadecimal number") }
    return String(
      decoding: stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }, as: UTF8.self)
  }

  private mutating func quoted() throws(Flaw) -> String {
    var content: [UInt8] = []
    text.at += 1
    while true {
      content += text.takeWhile { $0 != UInt8(ascii: "'") && $0 != UInt8(ascii: "\\") }
      guard !text.isAtEnd else { throw Flaw(text: "it ends within a text") }
      let isQuote = text.byte == UInt8(ascii: "'")
      let next = text.at + 1 < text.bytes.count ? text.bytes[text.at + 1] : 0
      // Two quotes are one.
      if isQuote, next != UInt8(ascii: "'") { break }
      text.at += 2
      switch next {
      case _ where isQuote: content.append(next)
      case UInt8(ascii: "0"): content.append(0)
      case UInt8(ascii: "Z"): content.append(26)
      default: content.append(ByteCursor.control(next) ?? next)
      }
    }
    text.at += 1
    return String(decoding: content, as: UTF8.self)
  }
}
