import Basics
import Dialogs
import HTTPPort
import ServerCertificates
import ServerMetrics
import Synchronization
import XMPPDoor

/// Reads everything that is measured but not counted, when somebody asks. Theory:
///
/// What is in memory is read at once. What needs the store or the event loops may take as long as a hanging disk does,
/// which is when an operator looks: after `ServerLimits.scrapeWait` a scrape goes on without it, and while such a
/// reading is under way no other one is begun.
struct Scrape: Sendable {
  private let core: Core
  private let federation: Federation?
  private let startedAt: Timestamp
  private let certificates: Certificates
  private let renewal: CertificateRenewal?
  private let backups: ScheduledBackups?
  private let replication: ReplicationWatch?
  private let downloads: Downloads
  private let memory: BoundedMemory
  private let slow: Slow

  init(
    _ core: Core, federation: Federation?, certificates: Certificates, renewal: CertificateRenewal?,
    backups: ScheduledBackups?, replication: ReplicationWatch?, downloads: Downloads, memory: BoundedMemory,
    startedAt: Timestamp
  ) {
    self.backups = backups
    self.replication = replication
    self.downloads = downloads
    self.memory = memory
    self.core = core
    self.certificates = certificates
    self.renewal = renewal
    self.federation = federation
    self.startedAt = startedAt
    slow = Slow()
  }

  private var parley: Parley { core.parley }

  /// Returns the values of all `Reading`s; what could not be read in time is missing.
  func readings() async -> Readings {
    var readings = Readings()
    let metrics = parley.metrics
    let sessions = parley.hub.sessionCounts
    readings.set(metrics.sessions, sessions.byKind)
    readings.set(metrics.sessionsLagging, sessions.lagging)
    readings.set(metrics.usersOnline, sessions.users)
    readings.set(metrics.inboxPosts, parley.waitingPosts)
    readings.set(metrics.certificateExpiry, certificates.firstExpiry)
    readings.set(metrics.certificateFailing, renewal?.failingSeconds ?? 0)
    readings.set(metrics.backupFailing, backups?.failingSeconds ?? 0)
    readings.set(metrics.replicationFailing, replication?.failingSeconds ?? 0)
    readings.set(metrics.downloads, downloads.count)
    readings.set(metrics.heldBytes, memory.bytes)
    readings.set(metrics.startTime, Double(startedAt.milliseconds) / 1_000)
    ProcessReadings.read(into: &readings, metrics, database: core.folder.database)
    if let late = await slow.readings(within: ServerLimits.scrapeWait, { [self] in await stored() }) {
      readings.merge(late)
    }
    return readings
  }

  /// Reads the store, and the streams of other servers.
  private func stored() async -> Readings {
    var readings = Readings()
    let metrics = parley.metrics
    let isFederating = federation != nil
    do throws(Problem) {
      let now = parley.clock.now
      let found = try await parley.read { reader in
        (
          head: try reader.head().position.number, pushes: try reader.usersOwedPushes(), hooks: try reader.hooks(),
          failures: try reader.hooks().reduce(0) { $0 + (try reader.hookFailureCount(of: $1.id)) },
          outbox: isFederating ? try reader.outboxTotals() : []
        )
      }
      func age(_ time: Timestamp?) -> Double {
        time.map { Double(max(0, now.milliseconds - $0.milliseconds)) / 1_000 } ?? 0
      }
      readings.set(metrics.logPosition, found.head)
      readings.set(metrics.pushesOwed, found.pushes.count)
      readings.set(metrics.pushesOldest, age(found.pushes.compactMap(\.since).min()))
      let active = found.hooks.filter { $0.progress.state == .active }
      readings.set(metrics.webhooks, [.active: active.count, .disabled: found.hooks.count - active.count])
      readings.set(metrics.webhookFailures, found.failures)
      // Progress without events is stored only now and then, so one that takes its events is not behind.
      let failing = active.filter { $0.progress.failures > 0 }
      readings.set(metrics.webhookBehind, failing.map { found.head - $0.progress.position.number }.max() ?? 0)
      readings.set(metrics.webhookFailing, age(failing.compactMap(\.progress.failingSince).min()))
      readings.set(metrics.outboxRows, found.outbox.reduce(0) { $0 + $1.rows })
      let giveUp = parley.options.giveUp
      readings.set(metrics.outboxOldest, age(found.outbox.map(\.expiresAt).min().map { $0 + (.zero - giveUp) }))
    } catch {
      // What the store would have told is missing, which alerts can ask for (`absent`).
    }
    let (streams, residents) = await federation?.population() ?? ([:], 0)
    readings.set(metrics.federationStreams, streams)
    readings.set(metrics.residents, residents)
    return readings
  }
}

/// Readings that may take long, one at a time.
private final class Slow: Sendable {
  private let isReading = Mutex(false)

  /// Returns what `body` reads; nil if that takes too long, or an earlier one still does.
  func readings(within wait: Duration, _ body: @escaping @Sendable () async -> Readings) async -> Readings? {
    let isFree = isReading.withLock { isReading in
      defer { isReading = true }
      return !isReading
    }
    guard isFree else { return nil }
    return await withCheckedContinuation { (answer: CheckedContinuation<Readings?, Never>) in
      let once = Once(answer)
      Task {
        let readings = await body()
        isReading.withLock { $0 = false }
        once.answer(readings)
      }
      Task {
        try? await Task.sleep(for: wait)
        once.answer(nil)
      }
    }
  }

  private final class Once: Sendable {
    private let waiting: Mutex<CheckedContinuation<Readings?, Never>?>
    init(_ waiting: CheckedContinuation<Readings?, Never>) { self.waiting = Mutex(waiting) }

    func answer(_ readings: Readings?) { waiting.withLock { $0.take() }?.resume(returning: readings) }
  }
}
