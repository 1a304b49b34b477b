/// The deliveries of one commit (or one signal), collected per lane: one hop per lane, not one per message.
struct LaneBatch {
  private var lanes: [(lane: Lane, items: [Lane.Item])] = []
  /// The fan-out that is being added.
  private var fanOut: FanOut?
  /// The deliveries of fan-outs so far.
  private(set) var fanOutCount = 0

  mutating func add(_ delivery: Delivery, to session: any LiveSession) {
    let lane = session.lane
    let item = Lane.Item(session: session, delivery: delivery, fanOut: fanOut)
    if fanOut != nil { fanOutCount += 1 }
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

  consuming func send() {
    for (lane, items) in lanes { lane.deliver(items) }
  }
}
