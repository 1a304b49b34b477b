import Basics

/// A streaming reader of comma-separated values (RFC 4180): quoted fields may contain commas, doubled quotes and line
/// breaks; lines end in CRLF or LF; a byte order mark at the start is skipped. The file may be larger than memory.
struct CSVReader {
  /// A record.
  struct Row: Hashable, Sendable {
    /// The line on which the record begins, from 1.
    let line: Int
    let fields: [String]
  }

  /// A syntax error, behind which the file cannot be read.
  struct Flaw: Error, Hashable, Sendable {
    let line: Int
    let text: String
  }

  private let pull: () throws(Files.Failure) -> [UInt8]
  private var chunk: [UInt8] = []
  private var next = 0
  private var line = 1
  private var atStart = true
  /// The number of bytes read so far, for a progress bar.
  private(set) var bytesRead: Int64 = 0

  /// Creates a reader. `pull` returns the next chunk, an empty one at the end of the file.
  init(_ pull: @escaping () throws(Files.Failure) -> [UInt8]) { self.pull = pull }

  /// Returns the next record, or nil at the end. Empty lines are skipped.
  mutating func row() throws -> Row? {
    while true {
      let first = line
      guard let fields = try record() else { return nil }
      if fields.count > 1 || !fields[0].isEmpty { return Row(line: first, fields: fields) }
    }
  }

  private mutating func record() throws -> [String]? {
    guard try peek() != nil else { return nil }
    var fields: [String] = []
    while true {
      if fields.count == AdminLimits.csvFieldsMax {
        throw Flaw(line: line, text: "more than \(AdminLimits.csvFieldsMax) fields")
      }
      let field = try peek() == 0x22 ? quoted() : plain()
      guard let text = String(validating: field, as: UTF8.self) else {
        throw Flaw(line: line, text: "the file is not UTF-8 text")
      }
      fields.append(text)
      switch try peek() {
      case 0x2c: skip()
      case 0x0d, 0x0a, nil:
        if try peek() == 0x0d {
          skip()
          guard try peek() == 0x0a || peek() == nil else {
            throw Flaw(line: line, text: "a carriage return without a line feed")
          }
        }
        if try peek() == 0x0a {
          skip()
          line += 1
        }
        return fields
      case .some:
        throw Flaw(line: line, text: "text after the closing quote")
      }
    }
  }

  private mutating func plain() throws -> [UInt8] {
    var field: [UInt8] = []
    while let byte = try peek(), byte != 0x2c, byte != 0x0a, byte != 0x0d {
      if byte == 0x22 { throw Flaw(line: line, text: "a quote inside a field that does not begin with one") }
      try append(byte, to: &field)
    }
    return field
  }

  private mutating func quoted() throws -> [UInt8] {
    let first = line
    var field: [UInt8] = []
    skip()
    while let byte = try peek() {
      if byte == 0x22 {
        skip()
        guard try peek() == 0x22 else { return field }
      }
      if byte == 0x0a { line += 1 }
      try append(byte, to: &field)
    }
    throw Flaw(line: first, text: "a quote that is never closed")
  }

  private mutating func append(_ byte: UInt8, to field: inout [UInt8]) throws(Flaw) {
    if field.count == AdminLimits.csvFieldBytesMax {
      throw Flaw(line: line, text: "a field longer than \(AdminLimits.csvFieldBytesMax) bytes")
    }
    field.append(byte)
    skip()
  }

  private mutating func peek() throws -> UInt8? {
    while next == chunk.count {
      chunk = try pull()
      next = 0
      if chunk.isEmpty { return nil }
      bytesRead += Int64(chunk.count)
      if atStart {
        atStart = false
        // The byte order mark may span chunks.
        while chunk.count < 3 {
          let more = try pull()
          if more.isEmpty { break }
          chunk += more
          bytesRead += Int64(more.count)
        }
        if chunk.starts(with: [0xef, 0xbb, 0xbf]) { next = 3 }
      }
    }
    return chunk[next]
  }

  private mutating func skip() { next += 1 }
}

/// A CSV file whose first record names the columns, in any order.
package struct CSVTable {
  private var reader: CSVReader
  private let places: [String: Int]
  private let width: Int
  /// The number of fields up to the last required column.
  private let least: Int

  var bytesRead: Int64 { reader.bytesRead }

  /// Reads the header.
  ///
  /// - Throws: `CSVReader.Flaw` if a required column is missing, or a column is unknown or duplicate.
  init(_ reader: CSVReader, required: [String], optional: [String]) throws {
    self.reader = reader
    let others = optional.isEmpty ? "" : " and any of \(optional.joined(separator: ", "))"
    let expected = "the first line names columns: \(required.joined(separator: ", "))\(others)"
    guard let header = try self.reader.row() else {
      throw CSVReader.Flaw(line: 1, text: "the file is empty; \(expected)")
    }
    var places: [String: Int] = [:]
    for (index, field) in header.fields.enumerated() {
      let written = field.trimmed.lowercased()
      guard let name = (required + optional).first(where: { $0.lowercased() == written }) else {
        throw CSVReader.Flaw(
          line: header.line, text: "there is no column \"\(Line.safe(written))\"; \(expected)")
      }
      guard places.updateValue(index, forKey: name) == nil else {
        throw CSVReader.Flaw(line: header.line, text: "the column \(name) occurs twice")
      }
    }
    if let missing = required.first(where: { places[$0] == nil }) {
      throw CSVReader.Flaw(
        line: header.line, text: "the column \(missing) is missing; \(expected)")
    }
    self.places = places
    self.width = header.fields.count
    self.least = required.compactMap { places[$0] }.reduce(0) { max($0, $1 + 1) }
  }

  /// A record with access by column name; the value of a column that the file does not have is empty.
  package struct Record: Sendable {
    package let line: Int
    fileprivate let fields: [String]
    fileprivate let places: [String: Int]

    package subscript(_ column: String) -> String { places[column].map { fields[$0] } ?? "" }
  }

  /// Returns the next record, or nil at the end. Missing fields at the end of a record are empty. A record without those of the
  /// required columns, or with too many fields, is an error of its own, and the next one can still be read.
  mutating func next() throws -> Result<Record, CSVReader.Flaw>? {
    guard let row = try reader.row() else { return nil }
    guard row.fields.count >= least, row.fields.count <= width else {
      return .failure(
        CSVReader.Flaw(
          line: row.line, text: "\(ProgressBar.counted(row.fields.count, "fields")) where the first line has \(width)"))
    }
    let fields = row.fields + [String](repeating: "", count: width - row.fields.count)
    return .success(Record(line: row.line, fields: fields, places: places))
  }
}
