import Dispatch
import Synchronization

/// The rule by which the jobs of one network may have all threads while nobody else waits. Somebody who comes later waits for one job
/// then, so a network has this only while its jobs are short.
package struct ThreadLoan: Sendable {
  /// The time that a short job takes at most.
  let jobMax: Duration
  /// The time for which a network leaves a thread to others after a job that has taken longer.
  let pause: Duration
  /// A clock that never goes back. It is not that of the thread, as whoever waits also waits for the disk.
  let clock: @Sendable () -> Duration
}

/// A few threads for work that blocks. The owners of jobs, and the networks that they come from, take turns (`Turns`), and none of them
/// has more than its share of the threads, so that one with many jobs does not delay those of the others.
package final class SharedThreads<Owner: Hashable & Sendable>: Sendable {
  package typealias Job = @Sendable () -> Void
  private typealias Turn = Turns<Owner, Job>.Begun

  private struct State {
    var turns: Turns<Owner, Job>
    /// The threads that do nothing.
    var idle: [DispatchQueue]
    /// The networks of long jobs, with the ends of their pauses: some thousands at most, as each is a job within one pause.
    var pauses: [Owner: Duration] = [:]

    /// Begins the next job with one of them; `nil` if there is none, or no job may begin.
    mutating func begin() -> (queue: DispatchQueue, turn: Turn)? {
      guard let queue = idle.last, let turn = turns.next() else { return nil }
      idle.removeLast()
      return (queue, turn)
    }

    /// Returns whether a network may have all threads after a job of it.
    mutating func mayHaveAll(_ network: Owner, after time: Duration, now: Duration, _ loan: ThreadLoan) -> Bool {
      if time > loan.jobMax {
        pauses = pauses.filter { now < $0.value }
        pauses[network] = now + loan.pause
      }
      return pauses[network].map { $0 <= now } ?? true
    }
  }
  private let loan: ThreadLoan?
  private let state: Mutex<State>

  /// - Parameters:
  ///   - label: The beginning of the threads' names.
  ///   - count: The number of threads.
  ///   - perOwnerMax: The number of them that one owner has at a time; `nil` for all but one.
  ///   - loan: The rule by which a network has all threads; `nil` if it never has.
  package init(label: String, count: Int, perOwnerMax: Int? = nil, loan: ThreadLoan? = nil) {
    self.loan = loan
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
      let began = loan?.clock() ?? .zero
      turn.job()
      let ended = loan?.clock() ?? .zero
      let (owner, network) = (turn.owner, turn.network)
      let (next, begun) = state.withLock { state -> (Turn?, (queue: DispatchQueue, turn: Turn)?) in
        var mayHaveAll = false
        if let loan, let network {
          mayHaveAll = state.mayHaveAll(network, after: ended - began, now: ended, loan)
        }
        state.turns.end(owner, in: network, mayHaveAll: mayHaveAll)
        guard let next = state.turns.next() else {
          state.idle.append(queue)
          return (nil, nil)
        }
        return (next, state.begin())
      }
      // Further ones of the same network if it may have all threads again, and one that the owner has waiting in another.
      var other = begun
      while let begun = other {
        start(begun.turn, on: begun.queue)
        other = state.withLock { $0.begin() }
      }
      guard let next else { return }
      turn = next
    }
  }
}
