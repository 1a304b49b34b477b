import Synchronization

/// A number of places for tasks, such as those that write to the disk at the same time. Theory:
///
/// A task takes a place, waiting without a thread until one is free, and gives it back. A place that is given back passes to the task
/// that waits for the longest, so none is free while a task waits, and no task waits for ever. The number of those that wait is bounded
/// by whoever begins them. Owners are not distinguished: where one of them could begin so many that others wait, they need
/// an order of owners (`Turns` in `Dialogs`).
public final class TaskPlaces: Sendable {
  private struct State {
    var free: Int
    var waiting: [CheckedContinuation<Void, Never>] = []

    mutating func next() -> CheckedContinuation<Void, Never>? {
      guard free > 0, !waiting.isEmpty else { return nil }
      free -= 1
      return waiting.removeFirst()
    }
  }

  private let state: Mutex<State>

  public init(_ count: Int) { state = Mutex(State(free: count)) }

  /// Returns when the task has a place, which must be given back.
  public func take() async {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
        state.waiting.append(continuation)
        return state.next()
      }
      next?.resume()
    }
  }

  public func giveBack() {
    let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.free += 1
      return state.next()
    }
    next?.resume()
  }
}
