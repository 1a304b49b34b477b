import Dispatch
import Synchronization

/// A few threads for work that blocks. The owners of jobs take turns (`Turns`), and none of them has more than its share of the
/// threads, so that one with many jobs does not delay those of the others.
package final class SharedThreads<Owner: Hashable & Sendable>: Sendable {
  package typealias Job = @Sendable () -> Void
  private typealias Turn = (job: Job, owner: Owner?)

  private struct State {
    var turns: Turns<Owner, Job>
    /// The threads that do nothing.
    var idle: [DispatchQueue]
  }
  private let state: Mutex<State>

  /// - Parameters:
  ///   - label: The beginning of the threads' names.
  ///   - count: The number of threads.
  ///   - perOwnerMax: The number of them that one owner has at a time; `nil` for all but one.
  package init(label: String, count: Int, perOwnerMax: Int? = nil) {
    state = Mutex(
      State(
        turns: Turns(max: count, perOwnerMax: perOwnerMax ?? max(1, count - 1)),
        idle: (0..<count).map { DispatchQueue(label: "\(label).\($0)") }))
  }

  package func run(for owner: Owner?, _ body: @escaping Job) {
    let begun = state.withLock { state -> (queue: DispatchQueue, turn: Turn)? in
      state.turns.add(body, of: owner)
      guard let queue = state.idle.last, let turn = state.turns.next() else { return nil }
      state.idle.removeLast()
      return (queue, turn)
    }
    guard let begun else { return }
    begun.queue.async { [self] in work(begun.turn, on: begun.queue) }
  }

  /// Runs a job, and further ones while some wait.
  private func work(_ first: Turn, on queue: DispatchQueue) {
    var turn = first
    while true {
      turn.job()
      let owner = turn.owner
      let next = state.withLock { state -> Turn? in
        state.turns.end(owner)
        if let next = state.turns.next() { return next }
        state.idle.append(queue)
        return nil
      }
      guard let next else { return }
      turn = next
    }
  }
}
