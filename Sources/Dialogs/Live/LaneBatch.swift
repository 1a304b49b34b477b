/// The deliveries of one commit (or one signal), collected per lane: one hop per lane, not one per message.
struct LaneBatch {
  private var lanes: [(lane: Lane, deliveries: [(any LiveSession, Delivery)])] = []

  mutating func add(_ delivery: Delivery, to session: any LiveSession) {
    let lane = session.lane
    // There are as many lanes as cores: a scan beats a dictionary.
    for index in lanes.indices where lanes[index].lane === lane {
      lanes[index].deliveries.append((session, delivery))
      return
    }
    lanes.append((lane, [(session, delivery)]))
  }

  consuming func send() {
    for (lane, deliveries) in lanes { lane.deliver(deliveries) }
  }
}
