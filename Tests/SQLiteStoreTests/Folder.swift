import Dialogs
import Foundation
import SQLiteStore

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
}
