import Accounts
import Basics
import Dialogs
import Logging
import ParleyServer
import ServerFixtures
import Testing

@testable import Administration

/// The reasons of failures and the paths that operations show: all of them on the server's machine, and over HTTP no path,
/// bucket or address.
@Suite struct FailureReasonTests {
  private struct Failing: RunningServer {
    var logLevel: Logger.Level {
      get { .info }
      nonmutating set {}
    }
    let configuredLogLevel = Logger.Level.info
    let replicationFailure: String? = nil
    let beforeSendFailure: String? = "Timeout was reached"
    var backupStatus: BackupStatus? {
      var status = BackupStatus(last: nil)
      status.fail(
        Problem(.conflict, "file-refused", "/var/backups/1.db cannot be made: no space is left.", field: "path"),
        at: Timestamp(milliseconds: 0))
      return status
    }
    let certificates = ShowCertificates.Output(
      certificates: [
        .init(
          domains: ["localhost"], names: ["localhost"], issuer: "itself", validFrom: "once", validUntil: "later",
          origin: "file", file: "/etc/parley/chain.pem")
      ],
      renewal: .init(
        directory: "https://authority.example/directory", names: ["localhost"], nextAt: "later", failingSince: "once",
        failure: "/var/lib/parley/acme.json cannot be written: no space is left"))
    func renewCertificate() throws(Problem) {}
    func reload() throws(Problem) -> ReloadServer.Output {
      .init(file: "/etc/parley/parley.yaml", changes: [.init(key: "log.level", effect: .now)])
    }
  }

  @Test func aServerThatIsNotReadyHasANextStep() async throws {
    try await withCore { _, context, _ in
      let starting = try await context.perform(ServerStatus.self, Empty())
      let problem = try #require(starting.problem)
      #expect(!starting.isReady && problem.code == "starting")
      #expect(ServerStatus.nextStep(problem.code)?.contains("a line for each port") == true)
      #expect(ServerStatus.nextStep(Problem.overloaded.code)?.contains("parley top") == true)
      #expect(ServerStatus.nextStep(Problem.storage.code)?.contains("parley check") == true)
      // The log knows nothing of a key that lacks a scope.
      #expect(ServerStatus.nextStep("scope-missing") == nil)
    }
  }

  @Test(arguments: [
    ("2026-10-31T00:00:00.000Z", "NOT YET, from 2026-11-01T00:00:00.000Z on ("),
    ("2026-11-02T00:00:00.000Z", "2026-11-01T00:00:00.000Z to "),
    ("2026-12-02T00:00:00.000Z", "EXPIRED on 2026-12-01T00:00:00.000Z ("),
  ])
  func aCertificateThatIsNotValidNowIsNamedAsSuch(now: String, start: String) throws {
    let certificate = ShowCertificates.Certificate(
      domains: ["a.example"], names: ["a.example"], issuer: "itself", validFrom: "2026-11-01T00:00:00.000Z",
      validUntil: "2026-12-01T00:00:00.000Z", origin: "file", file: nil)
    let time = try #require(Timestamp(now))
    #expect(certificate.validity(at: time).hasPrefix(start))
  }

  @Test func callersOverHTTPReadWhereTheLogHasTheReason() async throws {
    try await withCore { core, context, _ in
      let here = AdminContext(accounts: core.accounts, startedAt: context.startedAt, server: Failing())
      let elsewhere = here.within(core.parley.realms[0], scopes: [.server])
      let status = try await elsewhere.perform(ServerStatus.self, Empty())
      // A key may read this one: it has no host (`AnswerWatch`).
      #expect(status.beforeSendFailure == "Timeout was reached")
      #expect(status.backupFailure == "The reason is in the server's log, in the line \"no backup could be made\".")
      #expect(
        try await here.perform(ServerStatus.self, Empty()).backupFailure
          == "/var/backups/1.db cannot be made: no space is left.")
      let hidden = "The reason is in the server's log, in the line \"names are not certified\"."
      #expect(try await elsewhere.perform(ShowCertificates.self, Empty()).renewal?.failure == hidden)
      #expect(try await elsewhere.perform(RenewCertificate.self, Empty()).renewal?.failure == hidden)
      #expect(
        try await here.perform(ShowCertificates.self, Empty()).renewal?.failure
          == "/var/lib/parley/acme.json cannot be written: no space is left")

      // What succeeds names no path either.
      let shown = try await elsewhere.perform(ShowCertificates.self, Empty())
      #expect(shown.certificates.map(\.names) == [["localhost"]] && shown.certificates[0].file == nil)
      #expect(try await elsewhere.perform(RenewCertificate.self, Empty()).certificates == shown.certificates)
      let local = try await here.perform(ShowCertificates.self, Empty())
      #expect(local.certificates.map(\.file) == ["/etc/parley/chain.pem"])
      let reloaded = try await elsewhere.perform(ReloadServer.self, Empty())
      #expect(reloaded.file == nil && reloaded.changes.map(\.key) == ["log.level"])
      #expect(try await here.perform(ReloadServer.self, Empty()).file == "/etc/parley/parley.yaml")
    }
  }
}
