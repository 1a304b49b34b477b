import Synchronization

/// Which tasks are being done by this process: of two who come at once, one does it.
final class TaskRegistry: Sendable {
  private let running = Mutex<Set<Int64>>([])
  func claim(_ task: Int64) -> Bool { running.withLock { $0.insert(task).inserted } }
  func release(_ task: Int64) { running.withLock { _ = $0.remove(task) } }
}
