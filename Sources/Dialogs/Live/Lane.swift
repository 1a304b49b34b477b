import Synchronization

/// The serial context of a session: an event loop, or in tests a queue that is run by hand. Other threads put
/// deliveries into its mailbox; the lane is woken once, not once per delivery (a hop costs up to 20 us when the loop
/// sleeps, 0.3 us when it does not).
///
///     let lane = Lane { body in loop.execute(body) }
///
/// Deliveries of large fan-outs, such as the messages of a room with thousands of sessions, are delivered in slices
/// (`FanOutQueue`). Between two slices the lane does its other work.
public final class Lane: Sendable {
  /// A delivery, or several, with the fan-out that it belongs to; `nil` if it belongs to none, or to a small one.
  enum Item: Sendable {
    case one(any LiveSession, Delivery, of: FanOut?)
    /// A delivery of its own for each, or none.
    case many([Audiences.Recipient], of: FanOut?, @Sendable (Audiences.Recipient) -> Delivery?)

    var count: Int {
      switch self {
      case .one: 1
      case .many(let recipients, _, _): recipients.count
      }
    }

    func deliver() {
      switch self {
      case .one(let session, let delivery, _): session.receive(delivery)
      case .many(let recipients, _, let make):
        for recipient in recipients {
          if let delivery = make(recipient) { recipient.session.receive(delivery) }
        }
      }
    }

    func batchEnded() {
      switch self {
      case .one(let session, _, _): session.batchEnded()
      case .many(let recipients, _, _): for recipient in recipients { recipient.session.batchEnded() }
      }
    }
  }

  private struct FanOuts {
    var queue = FanOutQueue<any LiveSession, Delivery>()
    /// Whether a slice is being delivered or scheduled.
    var isServed = false
  }

  private let mailbox = Mutex<[Item]>([])
  // A lock of its own, which the threads that deliver do not wait for.
  private let fanOuts = Mutex(FanOuts())
  private let schedule: @Sendable (@escaping @Sendable () -> Void) -> Void
  private let pause: @Sendable (@escaping @Sendable () -> Void) -> Void

  /// Creates a lane. `schedule` runs its argument on the lane, soon; `pause` does so after everything that the lane has to
  /// do by then, such as reading sockets.
  public init(
    schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
    pause: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
  ) {
    self.schedule = schedule
    self.pause = pause
  }

  /// Creates a lane that has nothing but deliveries to do.
  public convenience init(schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
    self.init(schedule: schedule, pause: schedule)
  }

  /// Runs `body` on the lane, soon.
  public func run(_ body: @escaping @Sendable () -> Void) { schedule(body) }

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

  /// Delivers everything that waits, at once; called on the lane when its sessions are about to end. That is no more than
  /// `Limits.laneWaitingMax`, and what arrives meanwhile: some seconds of a stop.
  public func finish() {
    drain()
    deliver(fanOuts.withLock { $0.queue.take(.max, leaving: 0) })
  }

  private func drain() {
    let arrived = mailbox.withLock { box in
      let taken = box
      box = []
      return taken
    }
    // No more than a slice, with nothing before it.
    var count = 0
    for item in arrived { count += item.count }
    if count <= Limits.laneSlice, fanOuts.withLock({ $0.queue.isEmpty }) { return deliverNow(arrived) }
    var rest = arrived[...]
    while !rest.isEmpty {
      // Only as many arrived items as may wait are taken apart into deliveries.
      let (items, excess): ([Item], [FanOutQueue<any LiveSession, Delivery>.Turn]) = fanOuts.withLock { fanOuts in
        var items: [Item] = []
        while fanOuts.queue.count <= Limits.laneWaitingMax, let item = rest.popFirst() {
          Self.add(item, to: &fanOuts.queue, orTo: &items)
        }
        return (items, fanOuts.queue.take(0, leaving: Limits.laneWaitingMax))
      }
      // An item that need not wait came before those that wait for the same session.
      deliverNow(items)
      deliver(excess)
    }
    let begins = fanOuts.withLock { fanOuts in
      let begins = !fanOuts.isServed && !fanOuts.queue.isEmpty
      if begins { fanOuts.isServed = true }
      return begins
    }
    if begins { serve() }
  }

  /// Adds an item to what waits, or to the items that need not wait.
  private static func add(
    _ item: Item, to queue: inout FanOutQueue<any LiveSession, Delivery>, orTo items: inout [Item]
  ) {
    switch item {
    // A session that has ended drops what is still delivered to it.
    case .one(_, .signal(.closed(let reason), _), _) where reason.isAtOnce: items.append(item)
    case .one(let session, let delivery, let fanOut):
      if !queue.add(delivery, to: session, session.id, of: fanOut) { items.append(item) }
    case .many(let recipients, let fanOut, let make):
      for recipient in recipients {
        guard let delivery = make(recipient) else { continue }
        let session = recipient.session
        if !queue.add(delivery, to: session, session.id, of: fanOut) {
          items.append(.one(session, delivery, of: nil))
        }
      }
    }
  }

  private func deliverNow(_ items: [Item]) {
    for item in items { item.deliver() }
    // A session that received several deliveries is told several times that the batch ended; only the first call finds
    // anything to write.
    for item in items { item.batchEnded() }
  }

  /// Delivers a slice of the fan-outs. The next one follows after a pause.
  private func serve() {
    let (turns, goesOn) = fanOuts.withLock { fanOuts in
      let turns = fanOuts.queue.take(Limits.laneSlice, leaving: Limits.laneWaitingMax)
      fanOuts.isServed = !fanOuts.queue.isEmpty
      return (turns, fanOuts.isServed)
    }
    deliver(turns)
    if goesOn { pause { self.serve() } }
  }

  private func deliver(_ turns: [FanOutQueue<any LiveSession, Delivery>.Turn]) {
    for turn in turns {
      turn.target.receive(turn.first)
      for delivery in turn.rest { turn.target.receive(delivery) }
      turn.target.batchEnded()
    }
  }
}
