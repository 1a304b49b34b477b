import Synchronization

/// The tasks that this process is running, so that none runs twice, and their turns at what they share.
final class TaskRegistry: Sendable {
  private let running = Mutex<Set<Int64>>([])
  /// The turns of erasures at the committer: no two have a piece of their work under way.
  let pieces = Turns(1)
  /// The turns of exports.
  let exports = Turns(AccountLimits.exportsAtOnce)

  func claim(_ task: Int64) -> Bool { running.withLock { $0.insert(task).inserted } }
  func release(_ task: Int64) { running.withLock { _ = $0.remove(task) } }
}

/// Places that tasks take, each waiting for one in the order of the calls.
final class Turns: Sendable {
  private struct State {
    var free: Int
    var waiting: [CheckedContinuation<Void, Never>] = []
  }
  private let state: Mutex<State>

  init(_ count: Int) { state = Mutex(State(free: count)) }

  /// Waits until a place is free, and takes it. `end` must follow.
  func begin() async {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        if state.free == 0 {
          state.waiting.append(continuation)
          return false
        }
        state.free -= 1
        return true
      }
      if isFree { continuation.resume() }
    }
  }

  func end() {
    let next: CheckedContinuation<Void, Never>? = state.withLock { state in
      if state.waiting.isEmpty {
        state.free += 1
        return nil
      }
      return state.waiting.removeFirst()
    }
    next?.resume()
  }
}
