/// The deliveries of one commit (or one signal), collected per lane: one hop per lane, not one per message.
struct LaneBatch {
  private var lanes: [(lane: Lane, items: [Lane.Item])] = []
  /// The fan-out that is being added.
  private var fanOut: FanOut?
  /// The deliveries of fan-outs so far.
  private(set) var fanOutCount = 0

  mutating func add(_ delivery: Delivery, to session: any LiveSession) {
    if fanOut != nil { fanOutCount += 1 }
    add(.one(session, delivery, of: fanOut), on: session.lane)
  }

  private mutating func add(_ item: Lane.Item, on lane: Lane) {
    // There are as many lanes as cores: a scan beats a dictionary.
    for index in lanes.indices where lanes[index].lane === lane {
      lanes[index].items.append(item)
      return
    }
    lanes.append((lane, [item]))
  }

  /// Adds deliveries to so many sessions, which are a fan-out of this origin if they are many.
  mutating func spread(_ origin: FanOut, to count: Int, _ add: (inout LaneBatch) -> Void) {
    fanOut = count >= Limits.fanOutMin ? origin : nil
    add(&self)
    fanOut = nil
  }

  /// Adds deliveries to some of the `count` sessions that hear a room. `make` runs on the lane for each, and returns the
  /// delivery, or none.
  mutating func spread(
    _ room: DialogID, to recipients: Audiences.RecipientSet, of count: Int,
    _ make: @escaping @Sendable (Audiences.Recipient) -> Delivery?
  ) {
    for (lane, here) in recipients.lanes where !here.isEmpty {
      let spread = Lane.Spread(
        room: room, isLarge: count >= Limits.fanOutMin, recipients: here, edition: recipients.edition, make: make)
      add(.many(spread), on: lane)
    }
  }

  consuming func send() {
    for (lane, items) in lanes { lane.deliver(items) }
  }
}
