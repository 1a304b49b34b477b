/// The output of `pg_dump` in its default format: the rows of each table as lines of text behind a `COPY`.
final class PostgresDump: EjabberdRows {
  private let lines: LineFile
  private let tables: DumpTables
  private var current: DumpTables.Current?
  /// Whether a comment says that `pg_dump` has written it.
  private var isOfPostgres = false

  init(_ path: String, _ kinds: RecordKinds, _ joined: Database) throws(SourceFailure) {
    lines = try LineFile(path)
    tables = try DumpTables(path, kinds, joined)
  }

  var fraction: Double { lines.fraction }

  func next() throws(SourceFailure) -> EjabberdRow? {
    while true {
      let number = lines.line
      guard let line = try lines.next() else {
        guard current == nil else {
          throw SourceFailure(Place(file: lines.path, line: number), "it ends within a table")
        }
        try tables.finish()
        return nil
      }
      guard let current else {
        try begin(line, number)
        continue
      }
      if line.elementsEqual("\\.".utf8) {
        self.current = nil
        continue
      }
      if current.table == nil { continue }
      let fields = line.split(separator: 0x09, omittingEmptySubsequences: false)
      if let row = try tables.row(fields, of: current, line: number, Self.text) { return row }
    }
  }

  /// Takes a line that stands outside of tables' rows.
  private func begin(_ line: ArraySlice<UInt8>, _ number: Int) throws(SourceFailure) {
    if line.starts(with: "-- PostgreSQL database dump".utf8) { isOfPostgres = true }
    if line.starts(with: "INSERT INTO".utf8) {
      throw SourceFailure(
        Place(file: lines.path, line: number),
        isOfPostgres
          ? "its rows are INSERTs: write the dump without --inserts"
          : "its rows are INSERTs: what ejabberdctl export2sql writes is not read, import what ejabberdctl dump writes "
            + "(a dump of pg_dump is written without --inserts)")
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
    current = try tables.table(name, columns)
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
      bytes.append(ByteCursor.control(escaped) ?? escaped)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
