import Administration
import Basics
import Dialogs
import Glibc
import Logging
import ServerConfiguration
import Synchronization

/// Makes a backup whenever the newest one in its place is old enough, also when the server was stopped at that time. A
/// failure is logged, shown by `parley health` until a backup succeeds, and tried again.
final class ScheduledBackups: Sendable {
  private let settings: Settings.Backups
  private let every: Duration
  private let backup: DataBackup
  private let clock: any Clock
  private let logger: Logger
  private let current: Mutex<BackupStatus>

  /// - Parameter every: The time between two backups.
  init(
    _ settings: Settings.Backups, every: Duration, _ backup: DataBackup, clock: any Clock, _ logger: Logger
  ) {
    self.settings = settings
    self.every = every
    self.backup = backup
    self.clock = clock
    self.logger = logger
    let last = settings.place == .folder ? Self.newest(in: settings.folder) : nil
    current = Mutex(BackupStatus(last: last))
  }

  var status: BackupStatus { current.withLock { $0 } }

  /// Seconds for which backups have failed; 0 if the last one did not.
  var failingSeconds: Double {
    status.failingSince.map { Double(max(0, clock.now.milliseconds - $0.milliseconds)) / 1_000 } ?? 0
  }

  /// Runs until its task is cancelled.
  func run() async {
    var wait = await look() ? due : retry
    // The sleep throws when the task is cancelled.
    while (try? await Task.sleep(for: wait)) != nil {
      wait = await attempt() ? due : retry
    }
  }

  private var retry: Duration { min(every, ServerLimits.backupRetryInterval) }

  /// Asks a bucket for its newest backup. False if it does not say.
  private func look() async -> Bool {
    guard settings.place == .s3 else { return true }
    do throws(Problem) {
      let last = try await backup.newestInBucket()
      current.withLock { $0.last = last }
      return true
    } catch {
      fail(error)
      return false
    }
  }

  /// The time until the next backup.
  private var due: Duration {
    guard let last = status.last else { return .zero }
    let waited = Duration.milliseconds(clock.now.milliseconds - last.milliseconds)
    return max(.zero, every - max(.zero, waited))
  }

  private func attempt() async -> Bool {
    do throws(Problem) {
      let made =
        switch settings.place {
        case .folder: try await backup.add(to: settings.folder, keeping: settings.keep)
        case .s3: try await backup.continueInBucket(keeping: settings.keep)
        }
      let now = clock.now
      current.withLock { $0 = BackupStatus(last: now) }
      logger.notice(
        "backup",
        metadata: [
          "file": "\(made.path)", "bytes": "\(made.bytes)", "files": "\(made.files?.copied ?? 0)",
          "removed": "\(made.files?.removedDatabases ?? 0)",
        ])
      return true
    } catch {
      fail(error)
      return false
    }
  }

  private func fail(_ problem: Problem) {
    // It is made at the next start.
    if problem.code == RunningBackups.stopping.code { return }
    let now = clock.now
    current.withLock { $0.fail(problem, at: now) }
    logger.error("no backup could be made", metadata: ["reason": "\(problem.explanation)"])
  }

  /// Returns the time of the newest backup in the folder; nil if there is none.
  private static func newest(in folder: String) -> Timestamp? {
    guard let path = BackupFolder(path: folder).databases.last, let status = Files.status(path) else { return nil }
    return Timestamp(milliseconds: status.changedAt * 1_000)
  }
}
