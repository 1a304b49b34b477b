import Addresses
import Dialogs
import Foundation
import StoreConformance
import Testing

@testable import SQLiteStore

/// Data folders of former versions (`Tests/DataFolders`) are opened with everything in them.
@Suite struct UpgradeTests {
  @Test func everyFormerFolderKeepsAllItsRows() throws {
    for version in try Folder.formerVersions() {
      let folder = try Folder()
      try folder.load(version)
      let columns = try folder.edit { try $0.columns() }
      let before = try folder.edit { try $0.content(columns) }
      #expect(before.count > 200, "\(version)")
      let store = try folder.open()
      try store.read { try check($0) }
      #expect(try store.rows("PRAGMA integrity_check") == [["ok"]], "\(version)")
      try store.close()
      #expect(try folder.edit { try $0.content(columns) } == before, "\(version)")
    }
  }

  /// Texts differ where columns were added later; what they mean does not.
  @Test func everyFormerFolderGetsTheSchemaOfANewOne() throws {
    func schema(_ folder: Folder) throws -> [[String]] {
      try folder.open().close()
      return try folder.edit { connection in
        let objects = try connection.rows(
          "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema ORDER BY type, name")
        // The engine chooses among the indexes of a table in their order.
        let indexes = try connection.rows(
          """
          SELECT t.name, i.name FROM sqlite_schema t JOIN pragma_index_list(t.name) i WHERE t.type = 'table'
          ORDER BY t.name, i.seq
          """)
        let pragmas = try ["application_id", "user_version", "page_size", "encoding", "auto_vacuum"].flatMap {
          try connection.rows("PRAGMA \($0)")
        }
        let statements = objects.map { row in row.map { text in text.filter { !$0.isWhitespace && $0 != "\"" } } }
        return statements + indexes + pragmas
      }
    }
    let new = try schema(Folder())
    for version in try Folder.formerVersions() {
      let folder = try Folder()
      try folder.load(version)
      let found = try schema(folder)
      #expect(found == new, "\(version)")
    }
  }

  /// A killed process leaves the log as far as it was written.
  @Test func anInterruptedUpgradeIsRepeated() throws {
    let folder = try Folder()
    try folder.load("development")
    let columns = try folder.edit { try $0.columns() }
    let before = try folder.edit { try $0.content(columns) }
    let (file, log) = try folder.edit { connection in
      _ = try connection.rows("PRAGMA journal_mode = WAL")
      let file = try Data(contentsOf: URL(fileURLWithPath: folder.database))
      try Migration.migrate(connection)
      return (file, try Data(contentsOf: URL(fileURLWithPath: folder.database + "-wal")))
    }
    var records: Set<[[String]]> = []
    for cut in Array(stride(from: 0, to: log.count, by: 2_000)) + [log.count] {
      let copy = try Folder()
      try file.write(to: URL(fileURLWithPath: copy.database))
      try log.prefix(cut).write(to: URL(fileURLWithPath: copy.database + "-wal"))
      records.insert(try copy.edit { try $0.rows("SELECT name FROM sqlite_schema WHERE name LIKE '%migrations'") })
      let store = try copy.open()
      try store.read { try check($0) }
      try store.close()
      try copy.edit { connection throws in
        #expect(try connection.content(columns) == before, "cut at \(cut)")
        #expect(try connection.rows("SELECT identifier FROM migrations") == Migration.all.map { [$0.identifier] })
      }
    }
    #expect(records == [[["grdb_migrations"]], [["migrations"]]])
  }

  @Test func otherDevelopmentVersionsAreRefused() throws {
    for (change, schema) in [
      ("DELETE FROM grdb_migrations WHERE identifier = '0062-hook-lanes'", 61),
      ("DELETE FROM grdb_migrations WHERE identifier = '0030-fresh_origins'", 62),
      ("INSERT INTO grdb_migrations VALUES ('0063-later')", 63), ("DELETE FROM grdb_migrations", 0),
    ] {
      let folder = try Folder()
      try folder.load("development")
      try folder.edit { try $0.execute(change) }
      let url = URL(fileURLWithPath: folder.database)
      let before = try Data(contentsOf: url)
      let refusal = StoreFailure.unreleased(schema: schema)
      #expect(throws: refusal) { try folder.open() }
      #expect(throws: refusal) { try BackupFile(path: folder.database) }
      #expect(throws: refusal) { try SQLiteStore.look(at: folder.database) { try $0.head().position } }
      #expect(try Data(contentsOf: url) == before)
    }
    #expect(
      "\(StoreFailure.unreleased(schema: 61))"
        == "the database has schema 61, made by a development version before 0.1.0: start the last of those versions "
        + "on it once, or export its users with the version that made it and import them")
  }

  @Test func aBackupOfTheLastDevelopmentVersionIsRead() throws {
    let folder = try Folder()
    try folder.load("development")
    let backup = try BackupFile(path: folder.database)
    #expect(try backup.damage() == [])
    #expect(try backup.missingMigrations() == 1)
    #expect(try backup.domains() == ["localhost"])
    #expect(try SQLiteStore.look(at: folder.database) { try $0.head().position } == nil)
  }

  /// What `Tests/Clients/data_folder.py` has done through the doors.
  private func check(_ reader: any StoreReader) throws {
    let realm = try #require(try reader.realms().first { $0.domain == "localhost" }).id
    func user(_ name: String) throws -> User {
      try #require(try reader.user(BareJID("\(name)@localhost")))
    }
    let (romeo, juliet, tybalt) = (try user("romeo").id, try user("juliet").id, try user("tybalt").id)
    let escalus = try user("escalus").id
    #expect(try reader.userCount(in: realm) == 7)

    let dialog = try #require(try reader.dialog(between: romeo, and: juliet)).id
    let history = try reader.history(of: dialog, after: .zero, before: .end, limit: 99, ascending: true)
    let texts = history.compactMap { $0.fact.stanza?.content.text }
    #expect(texts.contains("But soft, what light 0") && texts.last == "Parting is such sweet sorrow")
    let states = history.compactMap(\.state)
    #expect(states.contains { $0.text == "Ah me" && $0.reactions.map(\.emoji) == [["\u{1f339}"]] })
    #expect(states.contains { $0.retraction?.by.id == juliet })
    #expect(history.contains { $0.fact.stanza?.content.attachments.isEmpty == false })
    #expect(try reader.pins(of: dialog).count == 1)
    #expect(try reader.starCount(of: romeo) == 1)
    #expect(try reader.draft(of: romeo, in: dialog)?.text == "She speaks")
    #expect(try reader.scheduled(of: romeo).map(\.content.text) == ["O, speak again"])
    #expect(try reader.mark(romeo, in: dialog) != nil)
    #expect(try reader.unread(of: juliet) > 0)
    #expect(try !reader.feed(of: juliet, after: .zero, limit: 99).isEmpty)
    #expect(try !reader.archive(of: romeo, ArchiveQuery(limit: 9)).entries.isEmpty)

    let square = try #require(try reader.room(at: BareJID("square@conference.localhost")))
    let people = try reader.members(of: square.id, among: [.owner, .outcast], after: nil, limit: 9)
    #expect(people.map(\.party.id) == [romeo, tybalt] && people.last?.reason == "Rude")
    let feast = try #require(try reader.room(externalID: .user(romeo, "feast-1"), in: realm))
    #expect(feast.settings.name == "The feast" && feast.creator == romeo)
    #expect(try reader.mentions(of: juliet, in: feast.id) == 1)
    #expect(try reader.rooms(of: romeo, before: .end, limit: 9).count == 2)

    #expect(try reader.itemIDs(in: "urn:example:verses", of: romeo) == ["1"])
    #expect(try reader.contacts(of: romeo).contains { $0.peer == juliet })
    #expect(try reader.blocks(of: romeo).count == 2)
    #expect(try reader.contactGroups(in: realm).map(\.name) == ["capulet", "montague"])
    #expect(try reader.note(on: tybalt)?.text == "Quarrels.")
    #expect(try reader.administrators().map(\.user) == [escalus])
    #expect(try reader.holds(in: realm).count == 1)
    #expect(try reader.federationRules().map(\.domain) == ["padua.example"])
    #expect(try reader.outboxTotals().map(\.rows) == [1])
    #expect(try reader.hooks().count == 1)
    #expect(try reader.reports(in: realm, limit: 9).count == 1)
    #expect(try reader.suspended(bytesMax: 1 << 20, inAll: 1 << 20).map(\.user) == [juliet])
    #expect(try reader.blobs(of: romeo, after: nil, limit: 9).contains { $0.name == "rose.png" })
  }
}

extension Connection {
  /// Returns the tables, but the engine's own and those of the steps, each with an expression of its columns.
  fileprivate func columns() throws -> [[String]] {
    // The index of words has no rows of its own to read.
    try rows(
      """
      SELECT t.name, group_concat('quote("' || c.name || '")', ' || '','' || ')
      FROM sqlite_schema t JOIN pragma_table_info(t.name) c
      WHERE t.type = 'table' AND t.name NOT LIKE '%migrations' AND t.name <> 'search'
      GROUP BY t.name ORDER BY t.name
      """)
  }

  /// Returns the rows of these tables.
  fileprivate func content(_ tables: [[String]]) throws -> [[String]] {
    try tables.flatMap { try rows("SELECT '\($0[0])', \($0[1]) FROM \($0[0]) ORDER BY 2") }
  }
}
