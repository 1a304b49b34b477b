import Synchronization

/// The serial context of a session: an event loop, or in tests a queue that is run by hand. Other threads put
/// deliveries into its mailbox; the lane is woken once, not once per delivery (a hop costs up to 20 us when the loop
/// sleeps, 0.3 us when it does not).
///
///     let lane = Lane { body in loop.execute(body) }
///
/// Deliveries of large fan-outs, such as the messages of a room with thousands of sessions, or of many rooms at once, and
/// many deliveries to single sessions that come together are made in slices (`LaneQueue`), which end after a number of
/// deliveries or a time. Between two slices the lane does its other work.
public final class Lane: Sendable {
  /// A delivery, or several.
  enum Item: Sendable {
    /// A delivery with the fan-out that it belongs to; `nil` if it belongs to none, or to a small one.
    case one(any LiveSession, Delivery, of: FanOut?)
    case many(Spread)

    var count: Int {
      switch self {
      case .one(_, let delivery, _): delivery.count
      case .many(let spread): spread.count
      }
    }

    var isFanOut: Bool {
      switch self {
      case .one(_, _, let fanOut): fanOut != nil
      case .many(let spread): spread.isLarge
      }
    }

    func deliver() {
      switch self {
      case .one(let session, let delivery, _): session.receive(delivery)
      case .many(let spread): spread.deliver { $0.receive($1) }
      }
    }

    func batchEnded() {
      switch self {
      case .one(let session, _, _): session.batchEnded()
      case .many(let spread):
        for part in spread.parts {
          for recipient in part.recipients { recipient.session.batchEnded() }
        }
      }
    }
  }

  /// A delivery of its own for each of a room's recipients on this lane, or none.
  struct Spread: Sendable {
    let room: DialogID
    /// Whether so many hear the room that its deliveries are a fan-out.
    let isLarge: Bool
    let parts: [Audiences.RecipientSet.Part]
    /// The number of recipients.
    let count: Int
    /// Counts the deliveries of a large room while they wait.
    let load: RoomLoad?
    let make: @Sendable (Audiences.Recipient) -> Delivery?

    /// Makes the deliveries; called once.
    func deliver(_ take: (any LiveSession, Delivery) -> Void) {
      load?.add(-count)
      for part in parts {
        for recipient in part.recipients {
          if let delivery = make(recipient) { take(recipient.session, delivery) }
        }
      }
    }
  }

  private struct FanOuts {
    var queue: LaneQueue
    /// Whether a slice is being delivered or scheduled.
    var isServed = false
    /// The time that each of the last deliveries took, on average.
    var cost: Duration = .zero

    /// Whether so many deliveries are no more than a slice. Those of small rooms and of single sessions have no bound of time.
    func isSlice(_ count: Int, isFanOut: Bool) -> Bool {
      count <= Limits.laneSlice && (!isFanOut || count <= Limits.laneStep || cost * count <= Limits.laneSliceTime)
    }
  }

  /// The turns of connections whose input takes the lane long.
  public let turns: LaneTurns
  private let mailbox = Mutex<[Item]>([])
  // A lock of its own, which the threads that deliver do not wait for.
  private let fanOuts: Mutex<FanOuts>
  private let schedule: @Sendable (@escaping @Sendable () -> Void) -> Void
  private let pause: @Sendable (@escaping @Sendable () -> Void) -> Void
  private let now: @Sendable () -> ContinuousClock.Instant

  /// Creates a lane. `schedule` runs its argument on the lane, soon; `pause` does so after everything that the lane has to
  /// do by then, such as reading sockets.
  public convenience init(
    schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
    pause: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
  ) {
    self.init(
      schedule: schedule, pause: pause, waitingMax: Limits.laneWaitingMax, takenApartMax: Limits.laneTakenApartMax
    ) { .now }
  }

  /// Creates the lane of an event loop with connections.
  ///
  /// - Parameters:
  ///   - turnPause: Runs its argument as `pause` does, or after a longer time, in which the lane surely looks at its sockets.
  ///   - now: The clock.
  package convenience init(
    schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
    pause: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
    turnPause: @escaping @Sendable (_ isLong: Bool, @escaping @Sendable () -> Void) -> Void,
    now: @escaping @Sendable () -> ContinuousClock.Instant
  ) {
    self.init(
      schedule: schedule, pause: pause, turnPause: turnPause, waitingMax: Limits.laneWaitingMax,
      takenApartMax: Limits.laneTakenApartMax, now: now)
  }

  init(
    schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
    pause: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
    turnPause: (@Sendable (_ isLong: Bool, @escaping @Sendable () -> Void) -> Void)? = nil, waitingMax: Int,
    takenApartMax: Int, now: @escaping @Sendable () -> ContinuousClock.Instant
  ) {
    self.schedule = schedule
    self.pause = pause
    self.now = now
    turns = LaneTurns(schedule: schedule, pause: turnPause ?? { _, body in pause(body) }, now: now)
    fanOuts = Mutex(FanOuts(queue: LaneQueue(waitingMax: waitingMax, takenApartMax: takenApartMax)))
  }

  /// Creates a lane that has nothing but deliveries to do.
  public convenience init(schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
    self.init(schedule: schedule, pause: schedule)
  }

  /// Runs `body` on the lane, soon.
  public func run(_ body: @escaping @Sendable () -> Void) { schedule(body) }

  /// Runs `body` on the lane after everything that the lane has to do by then, such as reading sockets.
  public func runLater(_ body: @escaping @Sendable () -> Void) { pause(body) }

  /// Delivers to sessions of the lane, from any thread.
  func deliver(_ items: [Item]) {
    if items.isEmpty { return }
    let wake = mailbox.withLock { box in
      defer { box.append(contentsOf: items) }
      return box.isEmpty
    }
    if wake { schedule { self.drain() } }
  }

  public func deliver(_ delivery: Delivery, to session: any LiveSession) {
    deliver([.one(session, delivery, of: nil)])
  }

  /// Delivers everything that waits, at once; called on the lane when its sessions are about to end.
  public func finish() {
    drain()
    while true {
      let (items, turns, isLast): ([Item], [LaneQueue.Turn], Bool) = fanOuts.withLock { fanOuts in
        let (items, turns) = fanOuts.queue.next(.max)
        return (items, turns, fanOuts.queue.isEmpty)
      }
      deliverNow(items)
      deliver(turns)
      if isLast { return }
    }
  }

  private func drain() {
    let arrived = mailbox.withLock { box in
      let taken = box
      box = []
      return taken
    }
    // No more than a slice, with nothing before it.
    var (count, isFanOut) = (0, false)
    for item in arrived {
      count += item.count
      isFanOut = isFanOut || item.isFanOut
    }
    if fanOuts.withLock({ $0.queue.isEmpty && $0.isSlice(count, isFanOut: isFanOut) }) {
      let start = isFanOut && count > Limits.laneStep ? now() : nil
      deliverNow(arrived)
      if let start { note(count, since: start) }
      return
    }
    let (items, excess, begins): ([Item], [LaneQueue.Turn], Bool) = fanOuts.withLock { fanOuts in
      let items = fanOuts.queue.add(arrived)
      let excess = fanOuts.queue.takeExcess()
      let begins = !fanOuts.isServed && !fanOuts.queue.isEmpty
      if begins { fanOuts.isServed = true }
      return (items, excess, begins)
    }
    // An item that need not wait came before those that wait for the same session.
    deliverNow(items)
    deliver(excess)
    if begins { serve() }
  }

  private func deliverNow(_ items: [Item]) {
    for item in items { item.deliver() }
    // A session that received several deliveries is told several times that the batch ended; only the first call finds
    // anything to write.
    for item in items { item.batchEnded() }
  }

  /// Delivers a slice of the fan-outs, step by step. The next one follows after a pause.
  private func serve() {
    let start = now()
    var (count, isLast) = (0, false)
    repeat {
      let most = min(Limits.laneStep, Limits.laneSlice - count)
      let step: (items: [Item], turns: [LaneQueue.Turn], isLast: Bool) = fanOuts.withLock { fanOuts in
        let (items, turns) = fanOuts.queue.next(most)
        fanOuts.isServed = !fanOuts.queue.isEmpty
        return (items, turns, !fanOuts.isServed)
      }
      deliverNow(step.items)
      deliver(step.turns)
      count += step.items.reduce(0) { $0 + $1.count }
      count += step.turns.reduce(0) { $0 + $1.weight }
      isLast = step.isLast
    } while !isLast && count < Limits.laneSlice && now() - start < Limits.laneSliceTime
    note(count, since: start)
    if !isLast { pause { self.serve() } }
  }

  /// Notes what so many deliveries took.
  private func note(_ count: Int, since start: ContinuousClock.Instant) {
    let taken = now() - start
    fanOuts.withLock { $0.cost = taken / max(1, count) }
  }

  private func deliver(_ turns: [LaneQueue.Turn]) {
    for turn in turns {
      turn.target.receive(turn.first)
      for delivery in turn.rest { turn.target.receive(delivery) }
      turn.target.batchEnded()
    }
  }
}
