import CSQLite
import Dialogs
import Foundation

@testable import SQLiteStore

/// A folder of one test, gone with it.
final class Folder {
  let path: String

  init() throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("parley-store-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = url.path
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  var database: String { path + "/parley.db" }

  func open(_ change: (inout SQLiteStore.Options) -> Void = { _ in }) throws -> SQLiteStore {
    var options = SQLiteStore.Options()
    change(&options)
    return try SQLiteStore(path: database, options: options)
  }

  /// The versions of which `Tests/DataFolders` has a data folder.
  static func formerVersions() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: formerFolders).filter { $0.hasSuffix(".sql") }
      .map { String($0.dropLast(4)) }.sorted()
  }

  private static var formerFolders: String {
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().path + "/DataFolders"
  }

  /// Makes the database that a former version left.
  func load(_ version: String) throws {
    let text = try String(contentsOfFile: "\(Self.formerFolders)/\(version).sql", encoding: .utf8)
    try edit { try $0.execute(text) }
  }

  /// Runs `body` with a connection of another program to the file.
  func edit<Value>(_ body: (Connection) throws -> Value) throws -> Value {
    try body(Connection(path: database))
  }
}

extension SQLiteStore {
  /// Returns the rows of a query, each column as text.
  func rows(_ text: String, _ arguments: [Int64] = []) throws -> [[String]] {
    try pool.read { try $0.connection.rows(text, arguments) }
  }

  /// Returns the first column of the first row.
  func int(_ text: String) throws -> Int64? { try pool.read { try $0.connection.int(text) } }
}

extension Connection {
  /// Returns the rows of a query, each column as text.
  func rows(_ text: String, _ arguments: [Int64] = []) throws -> [[String]] {
    try once(text) { statement in
      return try arguments.reduce(statement) { try $0.bind($1) }.all { row in
        (0..<sqlite3_column_count(row.raw)).map { row.text($0) }
      }
    }
  }
}
