import Basics
import Synchronization

/// The tasks that this process is running, so that none runs twice, and the places that they share.
final class TaskRegistry: Sendable {
  private let running = Mutex<Set<Int64>>([])
  /// The place of erasures at the committer: no two have a piece of their work under way.
  let pieces = TaskPlaces(1)
  /// The places of exports.
  let exports = TaskPlaces(AccountLimits.exportsAtOnce)

  func claim(_ task: Int64) -> Bool { running.withLock { $0.insert(task).inserted } }
  func release(_ task: Int64) { running.withLock { _ = $0.remove(task) } }
}
