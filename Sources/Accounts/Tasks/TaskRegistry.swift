import Synchronization

/// The tasks that this process is running, so that none runs twice.
final class TaskRegistry: Sendable {
  private let running = Mutex<Set<Int64>>([])
  func claim(_ task: Int64) -> Bool { running.withLock { $0.insert(task).inserted } }
  func release(_ task: Int64) { running.withLock { _ = $0.remove(task) } }
}
