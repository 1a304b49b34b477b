import Dialogs
import GRDB

/// One step of the schema. Steps are numbered upwards, not always by one, only go
/// forward, and never change once released: a test holds their checksums.
struct Migration: Sendable {
  let number: Int
  let name: String
  let sql: String

  static let all: [Migration] = [
    .log, .rooms, .states, .pep, .whispers, .mentions, .kicks, .clients, .blobs, .nodePeople, .search, .realmVault,
    .invites, .pushes, .dialogSettings, .guests, .identities, .nonces, .codes, .userSettings, .messages, .unsent,
    .devices, .backends, .attachments, .calls, .freshOrigins, .messageCosts,
  ]

  /// As the database's own record names it.
  var identifier: String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, 4 - digits.count)) + digits + "-" + name
  }

  var checksum: UInt64 {
    var digest = Digest64()
    digest.combine(sql)
    return digest.finish()
  }

  /// "Parl": marks a file as ours.
  private static let applicationID: Int64 = 0x5061_726c

  /// Brings the database to this release's schema. Each step is one transaction.
  static func migrate(_ pool: DatabasePool) throws {
    var migrator = DatabaseMigrator().disablingDeferredForeignKeyChecks()
    for migration in all {
      migrator.registerMigration(migration.identifier) { try $0.execute(sql: migration.sql) }
    }
    try pool.writeWithoutTransaction { database in
      let found = try Int64.fetchOne(database, sql: "PRAGMA application_id") ?? 0
      let tables = try Int64.fetchOne(database, sql: "SELECT count(*) FROM sqlite_schema") ?? 0
      guard found == applicationID || (found == 0 && tables == 0) else {
        throw StoreFailure.foreign(path: pool.path)
      }
      let known = Set(all.map(\.identifier))
      let newer = try migrator.appliedIdentifiers(database).subtracting(known)
        .compactMap { Int($0.prefix { $0 != "-" }) }
      if let newest = newer.max() {
        throw StoreFailure.schemaTooNew(found: newest, known: all.map(\.number).max() ?? 0)
      }
      try database.execute(sql: "PRAGMA application_id = \(applicationID)")
    }
    try migrator.migrate(pool)
  }
}
