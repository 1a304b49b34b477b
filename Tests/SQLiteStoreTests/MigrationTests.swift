import Dialogs
import GRDB
import Testing

@testable import SQLiteStore

@Suite struct MigrationTests {
  /// A released migration never changes: a database that ran the old text would
  /// differ from one that ran the new.
  @Test func releasedMigrationsAreAsTheyWere() {
    let released: [String: UInt64] = ["0001-log": 14_890_007_402_019_193_737]
    #expect(Dictionary(uniqueKeysWithValues: Migration.all.map { ($0.identifier, $0.checksum) }) == released)
  }

  @Test func migrationsAreNumberedWithoutGaps() {
    #expect(Migration.all.map(\.number) == Array(1...Migration.all.count))
  }

  @Test func openingTwiceChangesNothing() throws {
    let folder = try Folder()
    func schema() throws -> [String] {
      let store = try folder.open()
      defer { try? store.close() }
      return try store.pool.read { try String.fetchAll($0, sql: "SELECT name || coalesce(sql, '') FROM sqlite_schema ORDER BY name") }
    }
    let first = try schema()
    #expect(first.count > 20)
    #expect(try schema() == first)
  }
}
