import Dispatch
import Synchronization

/// The threads that read the store. Owners of reads take turns (`Turns`), and one of them never has all threads.
final class ReaderThreads: Sendable {
  private typealias Job = @Sendable () -> Void
  private typealias Turn = (job: Job, owner: ReadOwner?)

  private struct State {
    var turns: Turns<ReadOwner, Job>
    /// The threads that do nothing.
    var idle: [DispatchQueue]
  }
  private let state: Mutex<State>

  init(count: Int) {
    state = Mutex(
      State(
        turns: Turns(max: count, perOwnerMax: max(1, count - 1)),
        idle: (0..<count).map { DispatchQueue(label: "parley.reader.\($0)") }))
  }

  func run(for owner: ReadOwner?, _ body: @escaping @Sendable () -> Void) {
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
