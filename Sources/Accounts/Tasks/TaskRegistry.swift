import Synchronization

/// The tasks that this process is running, so that none runs twice, and their turns at the committer.
final class TaskRegistry: Sendable {
  private struct Turn {
    var isTaken = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }
  private let running = Mutex<Set<Int64>>([])
  private let turn = Mutex(Turn())

  func claim(_ task: Int64) -> Bool { running.withLock { $0.insert(task).inserted } }
  func release(_ task: Int64) { running.withLock { _ = $0.remove(task) } }

  /// Waits until no other task has a piece of its work under way, in the order of the calls. `endPiece` must follow.
  func beginPiece() async {
    await withCheckedContinuation { continuation in
      let isFree = turn.withLock { turn in
        if turn.isTaken {
          turn.waiting.append(continuation)
          return false
        }
        turn.isTaken = true
        return true
      }
      if isFree { continuation.resume() }
    }
  }

  func endPiece() {
    let next: CheckedContinuation<Void, Never>? = turn.withLock { turn in
      if turn.waiting.isEmpty {
        turn.isTaken = false
        return nil
      }
      return turn.waiting.removeFirst()
    }
    next?.resume()
  }
}
