import Administration
import Basics
import Dialogs
import Glibc
import Logging
import ServerConfiguration
import Synchronization

/// Makes a backup whenever the newest one in the folder is old enough, also when the server was stopped at that time. A
/// failure is logged, shown by `parley health` until a backup succeeds, and tried again.
final class ScheduledBackups: Sendable {
  private let settings: Settings.Backups
  private let backup: DataBackup
  private let clock: any Clock
  private let logger: Logger
  private let current: Mutex<BackupStatus>

  init(_ settings: Settings.Backups, _ backup: DataBackup, clock: any Clock, _ logger: Logger) {
    self.settings = settings
    self.backup = backup
    self.clock = clock
    self.logger = logger
    current = Mutex(BackupStatus(last: Self.newest(in: settings.folder), failure: nil))
  }

  var status: BackupStatus { current.withLock { $0 } }

  /// Runs until its task is cancelled.
  func run() async {
    var wait = due
    // The sleep throws when the task is cancelled.
    while (try? await Task.sleep(for: wait)) != nil {
      wait = await attempt() ? due : min(settings.every, ServerLimits.backupRetryInterval)
    }
  }

  /// The time until the next backup.
  private var due: Duration {
    guard let last = status.last else { return .zero }
    let waited = Duration.milliseconds(clock.now.milliseconds - last.milliseconds)
    return max(.zero, settings.every - max(.zero, waited))
  }

  private func attempt() async -> Bool {
    do throws(Problem) {
      let made = try await backup.add(to: settings.folder, keeping: settings.keep)
      let now = clock.now
      current.withLock { $0 = BackupStatus(last: now, failure: nil) }
      logger.notice(
        "backup",
        metadata: [
          "file": "\(made.path)", "bytes": "\(made.bytes)", "files": "\(made.files?.copied ?? 0)",
          "removed": "\(made.files?.removedDatabases ?? 0)",
        ])
      return true
    } catch {
      current.withLock { $0.failure = error.text }
      logger.error("no backup could be made", metadata: ["reason": "\(error.text)"])
      return false
    }
  }

  /// Returns the time of the newest backup in the folder; nil if there is none.
  private static func newest(in folder: String) -> Timestamp? {
    guard let path = BackupFolder(path: folder).databases.last else { return nil }
    var information = stat()
    guard stat(path, &information) == 0 else { return nil }
    return Timestamp(milliseconds: Int64(information.st_mtim.tv_sec) * 1_000)
  }
}
