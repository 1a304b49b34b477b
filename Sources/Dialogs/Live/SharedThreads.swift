import Dispatch
import Synchronization

/// A few threads for work that blocks. The owners of jobs, and the networks that they come from, take turns (`Turns`), and none of them
/// has more than its share of the threads, so that one with many jobs does not delay those of the others.
package final class SharedThreads<Owner: Hashable & Sendable>: Sendable {
  package typealias Job = @Sendable () -> Void
  private typealias Turn = Turns<Owner, Job>.Begun

  private struct State {
    var turns: Turns<Owner, Job>
    /// The threads that do nothing.
    var idle: [DispatchQueue]

    /// Begins the next job with one of them; `nil` if there is none, or no job may begin.
    mutating func begin() -> (queue: DispatchQueue, turn: Turn)? {
      guard let queue = idle.last, let turn = turns.next() else { return nil }
      idle.removeLast()
      return (queue, turn)
    }
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

  /// - Parameter network: The owner that stands for the network of the job (`Turns.add`).
  package func run(for owner: Owner?, in network: Owner? = nil, _ body: @escaping Job) {
    let begun = state.withLock { state -> (queue: DispatchQueue, turn: Turn)? in
      state.turns.add(body, of: owner, in: network)
      return state.begin()
    }
    if let begun { start(begun.turn, on: begun.queue) }
  }

  private func start(_ turn: Turn, on queue: DispatchQueue) {
    queue.async { [self] in work(turn, on: queue) }
  }

  /// Runs a job, and further ones while some wait.
  private func work(_ first: Turn, on queue: DispatchQueue) {
    var turn = first
    while true {
      turn.job()
      let (owner, network) = (turn.owner, turn.network)
      let (next, other) = state.withLock { state -> (Turn?, (queue: DispatchQueue, turn: Turn)?) in
        state.turns.end(owner, in: network)
        guard let next = state.turns.next() else {
          state.idle.append(queue)
          return (nil, nil)
        }
        return (next, state.begin())
      }
      if let other { start(other.turn, on: other.queue) }
      guard let next else { return }
      turn = next
    }
  }
}
