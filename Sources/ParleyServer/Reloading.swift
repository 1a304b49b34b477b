import Administration
import Backends
import Basics
import Dialogs
import Logging
import ServerCertificates
import ServerConfiguration
import ServiceLifecycle
import Synchronization
import UnixSignals

/// Changes what can be changed while the server runs: the level of its log, and by reading the configuration again all
/// keys that are marked so.
final class Reloading: RunningServer {
  /// The settings of the start, which keys that need a restart still have.
  private let started: Settings
  /// The settings of the last reload.
  private let applied: Mutex<Settings>
  private let served: Certificates
  private let xmpp: XMPPService
  private let log: ServerLog
  private let renewal: CertificateRenewal?
  private let backups: ScheduledBackups?
  private let replication: ReplicationWatch?
  private let beforeSend: BeforeSendClient?
  private let retention: RetentionState
  private let administrators: AdministratorRegistry
  private let logger: Logger
  private let reread: @Sendable () throws -> Settings

  init(
    _ settings: Settings, _ certificates: Certificates, _ renewal: CertificateRenewal?, _ xmpp: XMPPService,
    _ log: ServerLog, _ backups: ScheduledBackups?, _ replication: ReplicationWatch?,
    _ beforeSend: BeforeSendClient?, _ retention: RetentionState,
    _ administrators: AdministratorRegistry, _ logger: Logger,
    reread: @escaping @Sendable () throws -> Settings
  ) {
    started = settings
    applied = Mutex(settings)
    served = certificates
    self.renewal = renewal
    self.xmpp = xmpp
    self.log = log
    self.backups = backups
    self.replication = replication
    self.beforeSend = beforeSend
    self.retention = retention
    self.administrators = administrators
    self.logger = logger
    self.reread = reread
  }

  var logLevel: Logger.Level {
    get { log.level }
    set {
      log.level = newValue
      logger.notice("the log has another level", metadata: ["level": "\(newValue)"])
    }
  }

  var configuredLogLevel: Logger.Level { applied.withLock { $0.logLevel } }

  var backupStatus: BackupStatus? { backups?.status }

  var replicationFailure: String? { replication?.failure }

  var beforeSendFailure: String? { beforeSend?.failure }

  var certificates: ShowCertificates.Output { ShowCertificates.Output(served.served, renewal?.status) }

  func renewCertificate() async throws(Problem) {
    guard let renewal else {
      throw Problem(.conflict, "certificate-not-acme", "There is nothing to order: tls.acme.enabled is false.")
    }
    try await renewal.renew()
  }

  func reload() throws(Problem) -> ReloadServer.Output {
    do {
      return try applied.withLock { applied in
        let now = try reread()
        // What can fail comes first, so that a failure changes nothing.
        let unusable = Certificates.check(now)
        if !unusable.isEmpty { throw StartupError(lines: unusable, .usage) }
        try xmpp.reload(now)
        try served.reload(now)
        log.level = now.logLevel
        retention.policy = now.retention
        // What admins names is an administrator after the restart, and must not be registered until then.
        administrators.reserve(now.reservedNames.keys)
        let changes = changes(from: applied, to: now)
        applied = now
        for change in changes where change.effect == .restart {
          logger.warning("a changed key needs a restart", metadata: ["key": "\(change.key)"])
        }
        logger.notice("reloaded", metadata: ["log.level": "\(now.logLevel)"])
        return ReloadServer.Output(file: now.file, changes: changes)
      }
    } catch {
      let lines = (error as? StartupError)?.lines ?? ["\(error)"]
      for line in lines { logger.error("not reloaded: \(line)") }
      // The lines name files of this machine, and what is in them.
      throw Problem(
        .conflict, "configuration-refused",
        "Nothing was reloaded: the configuration or a certificate has an error. The server's log has it, in the line "
          + "\"not reloaded\".", reason: lines.joined(separator: "; "))
    }
  }

  /// Returns the keys whose values differ from those of the last reload, or from those of the start where they need a
  /// restart.
  private func changes(from applied: Settings, to now: Settings) -> [ReloadServer.Change] {
    func fingerprints(_ settings: Settings) -> [String: Int] {
      Dictionary(settings.effective.map { ($0.key, $0.fingerprint) }) { first, _ in first }
    }
    let (old, last, new) = (fingerprints(started), fingerprints(applied), fingerprints(now))
    var changes = Keys.all.compactMap { key -> ReloadServer.Change? in
      switch key.change {
      case .restart: old[key.name] == new[key.name] ? nil : .init(key: key.name, effect: .restart)
      case .reload: last[key.name] == new[key.name] ? nil : .init(key: key.name, effect: .now)
      }
    }
    // The fingerprints of these are of their names only.
    func add(_ key: String, _ effect: ReloadServer.Change.Effect) {
      if !changes.contains(where: { $0.key == key }) { changes.append(.init(key: key, effect: effect)) }
    }
    if started.components.map(\.fixed) != now.components.map(\.fixed) {
      add(Keys.shared.components.name, .restart)
    } else if applied.components != now.components {
      add(Keys.shared.components.name, .now)
    }
    if started.identity != now.identity, !changes.contains(where: { $0.key.hasPrefix("identity.") }) {
      add("identity", .restart)
    }
    if applied.domains.map(\.certificate) != now.domains.map(\.certificate) { add("domains", .now) }
    return changes
  }
}

/// Reloads changed certificates, and the configuration on SIGHUP.
struct ReloadService: Service {
  let certificates: Certificates
  let strict: StrictTransport
  let clock: any Clock
  let context: AdminContext

  func run() async throws {
    await cancelWhenGracefulShutdown {
      await withTaskGroup(of: Void.self) { group in
        group.addTask {
          // The sleep throws when the task is cancelled.
          while (try? await Task.sleep(for: CertificateLimits.pollInterval)) != nil {
            certificates.refresh()
            await strict.judge(at: clock.now)
          }
        }
        group.addTask {
          let signalled = context.acting(AuditActor(.signal, name: "system", origin: "SIGHUP"))
          for await _ in await UnixSignalsSequence(trapping: .sighup) {
            // The log and the audit have the reason of a failure.
            _ = try? await signalled.perform(ReloadServer.self, Empty())
          }
        }
      }
    }
  }
}

extension ShowCertificates.Output {
  fileprivate init(_ served: [ServedCertificate], _ renewal: CertificateRenewal.Status?) {
    self.init(
      certificates: served.map {
        .init(
          domains: $0.domains, names: $0.names, issuer: $0.issuer, validFrom: $0.validFrom.description,
          validUntil: $0.validUntil.description, origin: $0.origin.rawValue, file: $0.file)
      },
      renewal: renewal.map {
        .init(
          directory: $0.directory, names: $0.names, nextAt: $0.next.description,
          failingSince: $0.failingSince?.description, failure: $0.failure)
      })
  }
}
