import Dialogs

/// One step of the schema. Steps are numbered upwards, not always by one, only go forward, and never change once
/// released: a test holds their checksums.
struct Migration: Sendable {
  let number: Int
  let name: String
  let sql: String

  static let all: [Migration] = [
    .log, .rooms, .states, .pep, .whispers, .mentions, .kicks, .clients, .blobs, .nodePeople, .search, .realmVault,
    .invites, .pushes, .dialogSettings, .guests, .identities, .nonces, .codes, .userSettings, .messages, .unsent,
    .devices, .backends, .attachments, .calls, .freshOrigins, .messageCosts, .clearedRooms, .userNotes,
    .temporaryRooms, .nodeCreators, .registeredNicks, .outbox, .federationRules, .messagesFrom, .blocklist,
    .forwardedReports, .audit, .epochs, .contactGroups, .retention, .changes, .administrators, .wishesAndLinks,
    .filesByAge, .retracted, .sharedNames, .userExternalIDs, .suspendedStanzas, .shown, .hookLanes,
  ]

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

  /// Refuses a file of another program, or of a newer release. Writes nothing.
  static func check(_ connection: Connection, _ path: String) throws {
    let found = try connection.int("PRAGMA application_id") ?? 0
    let tables = try connection.int("SELECT count(*) FROM sqlite_schema") ?? 0
    guard found == applicationID || (found == 0 && tables == 0) else { throw StoreFailure.foreign(path: path) }
    let known = Set(all.map(\.identifier))
    let newer = try applied(connection).filter { !known.contains($0) }.compactMap { Int($0.prefix { $0 != "-" }) }
    if let newest = newer.max() {
      throw StoreFailure.schemaTooNew(found: newest, known: all.map(\.number).max() ?? 0)
    }
  }

  /// Brings the database to this release's schema. Each step is one transaction.
  static func migrate(_ connection: Connection, to steps: [Migration] = all) throws {
    // The table has the name that the first releases' library gave it.
    try connection.execute(
      """
      PRAGMA application_id = \(applicationID);
      CREATE TABLE IF NOT EXISTS grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
      """)
    let done = Set(try applied(connection))
    for step in steps where !done.contains(step.identifier) {
      do {
        try connection.execute(
          """
          BEGIN IMMEDIATE;
          \(step.sql)
          ;
          INSERT INTO grdb_migrations (identifier) VALUES ('\(step.identifier)');
          COMMIT;
          """)
      } catch {
        if connection.isInTransaction { try? connection.execute("ROLLBACK") }
        throw error
      }
    }
  }

  /// Returns how many steps the database lacks of this release's.
  static func missing(_ connection: Connection) throws -> Int {
    let done = Set(try applied(connection))
    return all.count { !done.contains($0.identifier) }
  }

  /// Returns the steps that the database has had.
  private static func applied(_ connection: Connection) throws -> [String] {
    guard try connection.int("SELECT 1 FROM sqlite_schema WHERE name = 'grdb_migrations'") != nil else { return [] }
    return try connection.once("SELECT identifier FROM grdb_migrations") { try $0.all { $0.text(0) } }
  }
}
