import Synchronization

/// The turns of connections on a lane (`LoopTurns`), which the doors on the same event loop share. All of it is called on the lane.
///
///     if lane.turns.worked(1) { lane.turns.wait(connection, in: network) { ... } }
public final class LaneTurns: Sendable {
  public typealias Job = @Sendable () -> Void

  private enum Owner: Hashable {
    case connection(ObjectIdentifier)
    case network(String)
  }

  private let turns = Mutex(LoopTurns<Owner, Job>(time: Limits.laneTurnTime))
  // Each element looks at these, which cost no lock.
  private let counted = Atomic(0)
  private let over = Atomic(false)
  private let schedule: @Sendable (@escaping @Sendable () -> Void) -> Void
  private let pause: @Sendable (_ isLong: Bool, @escaping @Sendable () -> Void) -> Void
  private let now: @Sendable () -> ContinuousClock.Instant

  init(
    schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
    pause: @escaping @Sendable (_ isLong: Bool, @escaping @Sendable () -> Void) -> Void,
    now: @escaping @Sendable () -> ContinuousClock.Instant
  ) {
    self.schedule = schedule
    self.pause = pause
    self.now = now
  }

  /// Whether the loop has worked for as long as it may before it looks at its sockets: further input waits for a turn.
  public var isOver: Bool { over.load(ordering: .relaxed) }

  /// Notes that elements of a connection were handled. Returns whether the rest of its input waits for a turn.
  public func worked(_ count: Int) -> Bool {
    let sum = counted.load(ordering: .relaxed) + count
    guard sum >= Limits.laneTurnStep else {
      counted.store(sum, ordering: .relaxed)
      return isOver
    }
    counted.store(0, ordering: .relaxed)
    let look = now()
    let (begins, isOver) = turns.withLock { turns -> (Bool, Bool) in
      let begins = turns.worked(until: look)
      return (begins, turns.isOver)
    }
    over.store(isOver, ordering: .relaxed)
    if begins { schedule { self.turnEnded() } }
    return isOver
  }

  private func turnEnded() {
    turns.withLock { $0.turnEnded() }
    over.store(false, ordering: .relaxed)
  }

  /// Runs a job of a connection in its turn.
  ///
  /// - Parameters:
  ///   - connection: Whose job it is. It has no other one that waits, and is kept by this one.
  ///   - network: The name of its network, whose connections share its turns; `nil` if it takes turns with all networks.
  public func wait(_ connection: AnyObject, in network: String?, _ job: @escaping Job) {
    let owner = Owner.connection(ObjectIdentifier(connection))
    let begins = turns.withLock { $0.add(job, of: owner, in: network.map { Owner.network($0) }) }
    if begins { pause(false) { self.serve() } }
  }

  private func serve() {
    let start = now()
    turns.withLock { $0.beginSlice(at: start) }
    over.store(false, ordering: .relaxed)
    while let job = next() { job() }
    let isLong = turns.withLock { $0.endSlice() }
    over.store(false, ordering: .relaxed)
    if let isLong { pause(isLong) { self.serve() } }
  }

  private func next() -> Job? {
    let look = now()
    return turns.withLock { $0.next(at: look) }
  }
}
