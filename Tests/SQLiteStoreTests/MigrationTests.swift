import Testing

@testable import SQLiteStore

@Suite struct MigrationTests {
  /// A released migration never changes: a database that ran the old text would
  /// differ from one that ran the new.
  @Test func releasedMigrationsAreAsTheyWere() {
    let released: [String: UInt64] = ["0001-first-release": 9_297_854_025_113_796_773]
    #expect(Dictionary(uniqueKeysWithValues: Migration.all.map { ($0.identifier, $0.checksum) }) == released)
  }

  @Test func migrationsAreNumberedUpwards() {
    let numbers = Migration.all.map(\.number)
    #expect(numbers == Set(numbers).sorted())
    #expect(numbers.first == 1)
  }

  @Test func aMigrationIsAdditiveOrSaysThatItIsNot() {
    for migration in Migration.all.dropFirst() {
      #expect(
        isAdditive(migration.sql) || migration.sql.hasPrefix("-- Not additive: "), "\(migration.identifier)")
    }
    #expect(
      isAdditive(
        "CREATE TABLE a (b TEXT) STRICT;\nCREATE INDEX c ON a (b);\nALTER TABLE d\n  ADD COLUMN e INTEGER;\n"))
    for sql in [
      "DROP TABLE a;", "UPDATE a SET b = 1;", "CREATE UNIQUE INDEX c ON a (b);", "ALTER TABLE a RENAME TO b;",
      "CREATE TABLE a (b TEXT) STRICT; DELETE FROM a;",
    ] {
      #expect(!isAdditive(sql), "\(sql)")
    }
  }

  /// Whether a release that does not know the step could use the database as before. No text in a step has a semicolon.
  private func isAdditive(_ sql: String) -> Bool {
    for statement in sql.split(separator: ";") {
      let words = statement.split(whereSeparator: \.isWhitespace).map { String($0) }
      switch words.first ?? "" {
      case "": break
      case "CREATE": if !["TABLE", "INDEX", "VIRTUAL"].contains(words[1]) { return false }
      case "ALTER": if words[3] != "ADD" { return false }
      default: return false
      }
    }
    return true
  }

  @Test func openingTwiceChangesNothing() throws {
    let folder = try Folder()
    func schema() throws -> [String] {
      let store = try folder.open()
      defer { try? store.close() }
      return try store.rows("SELECT name || coalesce(sql, '') FROM sqlite_schema ORDER BY name").map { $0[0] }
    }
    let first = try schema()
    #expect(first.count > 20)
    #expect(try schema() == first)
  }
}
