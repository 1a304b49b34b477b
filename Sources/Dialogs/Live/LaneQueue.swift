/// The deliveries that wait on a lane, as a value. Theory:
///
/// Only so many deliveries are taken apart and wait for their sessions in a `FanOutQueue`. Whatever else a room is sent
/// waits in a backlog, as one item for all of its sessions, in the order of arrival: a moderator's act in a large room, or
/// many rooms at once, make more deliveries than may be in memory, or than can be taken apart while others wait.
///
/// A delivery to one session passes the backlog if no item there names that session. So nobody else waits, and a session
/// has everything in order.
///
/// At most one slice of the deliveries that have arrived together is made at once. Further ones to single sessions
/// wait in the `FanOutQueue` as well, where the users to whom they go take turns: a thousand messages to a user with
/// thirty sessions would hold up the lane as a large room does.
struct LaneQueue: Sendable {
  typealias Turn = FanOutQueue<any LiveSession, Delivery>.Turn

  /// The number of deliveries that may wait.
  private let waitingMax: Int
  /// The number of deliveries that are taken apart between two slices.
  private let takenApartMax: Int
  private var queue = FanOutQueue<any LiveSession, Delivery> { $0.count }
  private var backlog = LaneBacklog()
  private var takenApart = 0
  /// The deliveries of small rooms, of those that have arrived together, that need not wait.
  private var atOnce = 0
  /// All deliveries of those that have arrived together that need not wait.
  private var immediate = 0

  init(waitingMax: Int, takenApartMax: Int) {
    self.waitingMax = waitingMax
    self.takenApartMax = takenApartMax
  }

  var isEmpty: Bool { queue.isEmpty && backlog.isEmpty }

  /// Adds what has arrived together. Returns what need not wait.
  mutating func add(_ arrived: [Lane.Item]) -> [Lane.Item] {
    (atOnce, immediate) = (0, 0)
    var items: [Lane.Item] = []
    for item in arrived { add(item, orTo: &items) }
    return items
  }

  private mutating func add(_ item: Lane.Item, orTo items: inout [Lane.Item]) {
    switch item {
    // A session that has ended drops what is still delivered to it.
    case .one(_, .signal(.closed(let reason), _), _) where reason.isAtOnce:
      items.append(item)
      immediate += 1
    case .one(let session, let delivery, let fanOut):
      if backlog.names(session.id) {
        backlog.append(item)
      } else {
        let origin: FanOut? = fanOut ?? (immediate < Limits.laneSlice ? nil : .recipient(session.party.id))
        add(delivery, to: session, of: origin, orTo: &items)
      }
    case .many(let spread):
      if !spread.isLarge, atOnce + item.count <= Limits.laneSlice {
        // Few, who wait only for what came before. Thousands of rooms with few are many, too.
        atOnce += item.count
        spread.deliver { session, delivery in add(.one(session, delivery, of: nil), orTo: &items) }
      } else if !backlog.isEmpty || !fits(item) {
        backlog.append(item)
      } else {
        takeApart(item, orTo: &items)
      }
    }
  }

  /// Takes the next slice: what need not wait any more, and then the deliveries to some sessions (`FanOutQueue.take`).
  mutating func next(_ most: Int) -> (items: [Lane.Item], turns: [Turn]) {
    takenApart = 0
    var items: [Lane.Item] = []
    while let item = backlog.first, fits(item) {
      backlog.removeFirst()
      takeApart(item, orTo: &items)
    }
    return (items, queue.take(most, leaving: waitingMax))
  }

  /// Takes the deliveries beyond those that may wait: each of them was made before it arrived, such as a presence for a
  /// user's contacts.
  mutating func takeExcess() -> [Turn] { queue.take(0, leaving: waitingMax) }

  private func fits(_ item: Lane.Item) -> Bool {
    takenApart < takenApartMax && (queue.isEmpty || queue.count + item.count <= waitingMax)
  }

  private mutating func takeApart(_ item: Lane.Item, orTo items: inout [Lane.Item]) {
    takenApart += item.count
    switch item {
    case .one(let session, let delivery, let fanOut): add(delivery, to: session, of: fanOut, orTo: &items)
    case .many(let spread):
      spread.deliver { session, delivery in add(delivery, to: session, of: .room(spread.room), orTo: &items) }
    }
  }

  private mutating func add(
    _ delivery: Delivery, to session: any LiveSession, of fanOut: FanOut?, orTo items: inout [Lane.Item]
  ) {
    if queue.add(delivery, to: session, session.id, of: fanOut) { return }
    items.append(.one(session, delivery, of: nil))
    immediate += delivery.count
  }
}

/// The items that are not taken apart yet, in order, and the sessions that they name. A session that has left a room
/// counts as named until the room's items are gone.
private struct LaneBacklog: Sendable {
  /// The items for one room.
  private struct Named: Sendable {
    var count = 0
    var sessions: Set<SessionID> = []
    /// The parts of the room's recipients whose sessions are in `sessions`, by their editions.
    var parts: Set<UInt64> = []
  }

  private var items = FIFO<Lane.Item>()
  private var rooms: [DialogID: Named] = [:]
  /// The sessions that are named, each with the number of its own items and of the rooms that name it.
  private var sessions: [SessionID: Int] = [:]

  var isEmpty: Bool { items.isEmpty }
  var first: Lane.Item? { items.first }

  func names(_ session: SessionID) -> Bool { sessions[session] != nil }

  mutating func append(_ item: Lane.Item) {
    items.append(item)
    switch item {
    case .one(let session, _, _): sessions[session.id, default: 0] += 1
    case .many(let spread):
      var named = rooms.removeValue(forKey: spread.room) ?? Named()
      named.count += 1
      for part in spread.parts where named.parts.insert(part.edition).inserted {
        for recipient in part.recipients where named.sessions.insert(recipient.session.id).inserted {
          sessions[recipient.session.id, default: 0] += 1
        }
      }
      rooms[spread.room] = named
    }
  }

  mutating func removeFirst() {
    guard let item = items.popFirst() else { return }
    switch item {
    case .one(let session, _, _): unname(session.id)
    case .many(let spread):
      guard var named = rooms.removeValue(forKey: spread.room) else { return }
      named.count -= 1
      if named.count > 0 {
        rooms[spread.room] = named
      } else {
        for session in named.sessions { unname(session) }
      }
    }
  }

  private mutating func unname(_ session: SessionID) {
    let left = (sessions[session] ?? 1) - 1
    sessions[session] = left > 0 ? left : nil
  }
}
