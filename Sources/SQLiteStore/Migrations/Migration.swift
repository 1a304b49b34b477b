import Dialogs

/// One step of the schema. Steps are numbered upwards, only go forward, and never change once released: a test holds
/// their checksums.
///
/// A step is additive: it creates tables and indexes that are not unique, and adds columns. One that does more begins
/// with the line `-- Not additive: ` and the reason, and the changelog of its release says so.
struct Migration: Sendable {
  let number: Int
  let name: String
  let sql: String

  static let all: [Migration] = [.firstRelease]

  /// The schema of 0.1.0.
  private static let firstRelease = Migration(
    number: 1, name: "first-release",
    sql: [
      messageTables, dialogTables, roomTables, userTables, accountTables, nodeTables, fileTables, sessionTables,
      backendTables, federationTables,
    ].joined(separator: "\n\n"))

  /// Makes a database of the last development version a database of 0.1.0, which has the same tables.
  static let adoption = """
    DROP TABLE grdb_migrations;
    CREATE TABLE migrations (identifier TEXT NOT NULL PRIMARY KEY);
    INSERT INTO migrations (identifier) VALUES ('0001-first-release');
    """

  /// The identifier in the database's own record.
  var identifier: String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, 4 - digits.count)) + digits + "-" + name
  }

  var checksum: UInt64 {
    var digest = Digest64()
    digest.combine(sql)
    return digest.finish()
  }

  /// "Parl": it marks a file as Parley's.
  private static let applicationID: Int64 = 0x5061_726c

  /// Refuses a file of another program, of a newer release, or of a development version before the last one. Writes
  /// nothing.
  static func check(_ connection: Connection, _ path: String) throws {
    let found = try connection.int("PRAGMA application_id") ?? 0
    let tables = try connection.int("SELECT count(*) FROM sqlite_schema") ?? 0
    guard found == applicationID || (found == 0 && tables == 0) else { throw StoreFailure.foreign(path: path) }
    // Every development version had some of the steps of the last one, which were 52.
    if let steps = try developmentSteps(connection), steps.count != 52 || !steps.contains("0062-hook-lanes") {
      throw StoreFailure.unreleased(schema: steps.compactMap(number(of:)).max() ?? 0)
    }
    let known = Set(all.map(\.identifier))
    let newer = try applied(connection).filter { !known.contains($0) }.compactMap(number(of:))
    if let newest = newer.max() {
      throw StoreFailure.schemaTooNew(found: newest, known: all.map(\.number).max() ?? 0)
    }
  }

  /// Brings the database, which has been checked, to this release's schema. Each step is one transaction: after a crash
  /// amid a step it is repeated.
  static func migrate(_ connection: Connection) throws {
    if try developmentSteps(connection) != nil { try commit(adoption, connection) }
    try connection.execute(
      """
      PRAGMA application_id = \(applicationID);
      CREATE TABLE IF NOT EXISTS migrations (identifier TEXT NOT NULL PRIMARY KEY);
      """)
    let done = Set(try applied(connection))
    for step in all where !done.contains(step.identifier) {
      try commit(
        """
        \(step.sql)
        ;
        INSERT INTO migrations (identifier) VALUES ('\(step.identifier)');
        """, connection)
    }
  }

  private static func commit(_ sql: String, _ connection: Connection) throws {
    do {
      try connection.execute("BEGIN IMMEDIATE;\n\(sql)\nCOMMIT;")
    } catch {
      if connection.isInTransaction { try? connection.execute("ROLLBACK") }
      throw error
    }
  }

  /// Returns the number of this release's steps that the database lacks.
  static func missing(_ connection: Connection) throws -> Int {
    let done = Set(try applied(connection))
    return all.count { !done.contains($0.identifier) }
  }

  /// Returns the steps that were applied to the database.
  private static func applied(_ connection: Connection) throws -> [String] {
    try identifiers(in: "migrations", connection) ?? []
  }

  /// Returns the steps that a development version recorded, in a table of the name that a library had given it; nil for
  /// a database of a release.
  private static func developmentSteps(_ connection: Connection) throws -> [String]? {
    guard try identifiers(in: "migrations", connection) == nil else { return nil }
    return try identifiers(in: "grdb_migrations", connection)
  }

  private static func identifiers(in table: String, _ connection: Connection) throws -> [String]? {
    guard try connection.int("SELECT 1 FROM sqlite_schema WHERE name = '\(table)'") != nil else { return nil }
    return try connection.once("SELECT identifier FROM \(table)") { try $0.all { $0.text(0) } }
  }

  private static func number(of identifier: String) -> Int? { Int(identifier.prefix { $0 != "-" }) }
}
