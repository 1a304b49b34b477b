import Synchronization

/// The serial context of a session: an event loop, or in tests a queue that is run by hand. Other threads put
/// deliveries into its mailbox; the lane is woken once, not once per delivery (a hop costs up to 20 us when the loop
/// sleeps, 0.3 us when it does not).
///
///     let lane = Lane { body in loop.execute(body) }
public final class Lane: Sendable {
  private let mailbox = Mutex<[(any LiveSession, Delivery)]>([])
  private let schedule: @Sendable (@escaping @Sendable () -> Void) -> Void

  /// Creates a lane. `schedule` runs its argument on the lane, soon.
  public init(schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
    self.schedule = schedule
  }

  /// Runs `body` on the lane, soon.
  public func run(_ body: @escaping @Sendable () -> Void) { schedule(body) }

  /// Delivers to sessions of the lane, from any thread.
  public func deliver(_ deliveries: [(any LiveSession, Delivery)]) {
    if deliveries.isEmpty { return }
    let wake = mailbox.withLock { box in
      defer { box.append(contentsOf: deliveries) }
      return box.isEmpty
    }
    if wake { schedule { self.drain() } }
  }

  public func deliver(_ delivery: Delivery, to session: any LiveSession) {
    let wake = mailbox.withLock { box in
      defer { box.append((session, delivery)) }
      return box.isEmpty
    }
    if wake { schedule { self.drain() } }
  }

  private func drain() {
    let batch = mailbox.withLock { box in
      let taken = box
      box = []
      return taken
    }
    for (session, delivery) in batch { session.receive(delivery) }
    // A session that received several deliveries is told several times that the batch ended; only the first call finds
    // anything to write.
    for (session, _) in batch { session.batchEnded() }
  }
}
