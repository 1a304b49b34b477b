import Accounts
import Dialogs
import ImportSources
import Logging
import ParleyServer
import ServerFixtures
import Synchronization
import Testing

@testable import Administration

/// The audit: which acts are in it, with which object, and for whom.
@Suite struct AuditTests {
  private let operator1 = AuditActor(.socket, name: "uid 1000", origin: "process 1")

  private func audit(_ context: AdminContext, key: String? = nil, matching: String? = nil) async throws -> [String] {
    try await ListAudit.perform(
      ListAudit.Input(domain: nil, key: key, matching: matching, limit: 50), in: context
    ).items.map { "\($0.actor) \($0.operation) \($0.object) \($0.code ?? "done")" }
  }

  @Test func actsAreRecordedWhetherTheySucceedOrNot() async throws {
    try await withCore { _, context, _ in
      let acting = context.acting(operator1)
      _ = try await acting.perform(
        AddUser.self, AddUser.Input(jid: "alice@localhost", password: "secret", name: "Alice"))
      _ = try? await acting.perform(AddUser.self, AddUser.Input(jid: "alice@localhost", password: "other", name: nil))
      _ = try await acting.perform(ShowUser.self, ShowUser.Input(jid: "alice@localhost"))
      _ = try await acting.perform(
        SetUserState.self, SetUserState.Input(jid: "alice@localhost", state: .disabled))
      _ = try await acting.perform(
        ImportUsers.self, ImportUsers.Input(rows: [.init(jid: "bob@localhost", password: "secret", name: nil)]))
      // An operation inside another one is not recorded again, and what nobody does neither.
      _ = try await AddUser.perform(AddUser.Input(jid: "carol@localhost", password: "secret", name: nil), in: context)
      #expect(
        try await audit(context) == [
          "uid 1000 users.import 1 user done", "uid 1000 users.state alice@localhost disabled done",
          "uid 1000 users.add alice@localhost name-taken", "uid 1000 users.add alice@localhost done",
        ])
      #expect(try await audit(context, matching: "STATE").count == 1)
    }
  }

  @Test func anImportOfManyCountsWhatWasRefused() async throws {
    try await withCore { core, context, _ in
      let rows = [("alice@localhost", "secret"), ("a b@localhost", "secret"), ("bob@localhost", "")]
        .map { ImportUsers.Row(jid: $0.0, password: $0.1, name: nil) }
      let acting = context.acting(operator1)
      for _ in 0..<2 { _ = try await acting.perform(ImportUsers.self, ImportUsers.Input(rows: rows)) }
      let contacts = ["alice@localhost", "nobody@localhost"]
        .map { ImportContacts.Row(jid: $0, contact: "bob@elsewhere.example", name: nil, groups: []) }
      _ = try await acting.perform(ImportContacts.self, ImportContacts.Input(rows: contacts, mutual: false))
      #expect(
        try await audit(context) == [
          "uid 1000 roster.import 1 contact, 1 refused done",
          "uid 1000 users.import 0 users, 1 already present, 2 refused done",
          "uid 1000 users.import 1 user, 2 refused done",
        ])
    }
  }

  @Test func anImportIsItsBeginningAndItsEnd() async throws {
    try await withCore { _, context, _ in
      let acting = context.acting(operator1)
      func send(_ name: String, of source: String) async throws {
        let account = AccountRecord(jid: "\(name)@localhost", password: "secret")
        let outcomes = try await acting.perform(
          ImportRecords.self, ImportRecords.Input(records: [.account(account)], source: source))
        #expect(outcomes.map(\.status) == [.done])
      }
      for name in ["alice", "bob"] { try await send(name, of: "prosody /one") }
      let file = FileRecord(owner: "alice@localhost", secret: "s", name: "n", mediaType: nil, size: 1, time: 0)
      _ = try await acting.perform(
        ImportFile.self, ImportFile.Input(file: file, offset: 0, bytes: [1], source: "prosody /one"))
      #expect(try await audit(context) == ["uid 1000 records.import prosody /one done"])
      var report = RecordsImport.Report()
      report.accounts.imported = 2
      _ = try await acting.perform(
        EndImport.self, EndImport.Input(source: "prosody /one", report: report, isBrokenOff: true))
      // One that was repeated begins again.
      try await send("carol", of: "prosody /one")
      report.unreadable = 3
      _ = try await acting.perform(
        EndImport.self, EndImport.Input(source: "prosody /one", report: report, isBrokenOff: false))
      let counts = "2 accounts, 0 files, 0 rooms, 0 messages and 0 other records"
      #expect(
        try await audit(context) == [
          "uid 1000 records.import.end \(counts); 3 failed, of prosody /one done",
          "uid 1000 records.import prosody /one done",
          "uid 1000 records.import.end broken off after \(counts); 0 failed, of prosody /one done",
          "uid 1000 records.import prosody /one done",
        ])
    }
  }

  @Test func aKeySeesItsDomainsKeysAlone() async throws {
    try await withCore { core, context, _ in
      let realm = core.parley.realms[0]
      let (key, secret) = try await core.accounts.makeAppKey(name: "backend", scopes: [.audit], in: realm.id)
      try await core.accounts.note("users.list", on: "", by: AuditActor(key, from: "192.0.2.1"), status: 200)
      _ = try await context.acting(operator1).perform(RevokeKey.self, RevokeKey.Input(domain: nil, id: key.id))
      #expect(try await audit(context.within(realm)) == ["backend users.list  done"])
      #expect(try await audit(context).count == 2)
      for name in ["backend", String(secret.prefix(10))] {
        #expect(try await audit(context, key: name) == ["backend users.list  done"])
      }
      #expect(try await audit(context, key: "back") == [])
    }
  }

  /// Operations that read have no reason to be acts; each other one is.
  @Test func whatIsNoActIsARead() {
    let reading = Set(AdminOperations.all.filter { $0.isReading }.map { $0.name })
    for name in [
      "users.add", "users.export", "keys.add", "backup", "sessions.close", "server.reload",
      "roster.import", "certificates.renew",
    ] {
      #expect(!reading.contains(name), "\(name)")
    }
    for name in [
      "users.list", "roster.list", "keys.list", "server.status", "server.stats", "motd.show", "audit.list", "log.level",
    ] {
      #expect(reading.contains(name), "\(name)")
    }
  }

  private final class Running: RunningServer {
    private let level = Mutex(Logger.Level.info)
    var logLevel: Logger.Level {
      get { level.withLock { $0 } }
      set { level.withLock { $0 = newValue } }
    }
    let configuredLogLevel = Logger.Level.info
    let backupStatus: BackupStatus? = nil
    let replicationFailure: String? = nil
    let beforeSendFailure: String? = nil
    let certificates = ShowCertificates.Output(certificates: [], renewal: nil)
    func renewCertificate() throws(Problem) {}
    func reload() throws(Problem) -> ReloadServer.Output { .init(file: nil, changes: []) }
  }

  @Test func theLogsLevelIsThatOfARunningServer() async throws {
    try await withCore { core, context, _ in
      let running = AdminContext(accounts: core.accounts, startedAt: context.startedAt, server: Running())
      let set = try await SetLogLevel.perform(SetLogLevel.Input(level: "DEBUG"), in: running)
      #expect(set.level == "debug" && set.configured == "info")
      #expect(try await ShowLogLevel.perform(Empty(), in: running).level == "debug")
      func code(_ level: String, _ context: AdminContext) async -> String? {
        do { _ = try await SetLogLevel.perform(SetLogLevel.Input(level: level), in: context) } catch {
          return error.code
        }
        return nil
      }
      #expect(await code("loud", running) == "level-unknown")
      #expect(await code("info", context) == "server-absent")
    }
  }
}
