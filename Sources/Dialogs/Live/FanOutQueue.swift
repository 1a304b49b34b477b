/// The origin of many deliveries at once: the fan-outs of one origin share one part of a lane's work.
enum FanOut: Hashable, Sendable {
  case room(DialogID)
  /// Presences and events of a user, for the user's contacts.
  case user(UserID)
  /// Announcements to all users of a realm; of a realm elsewhere the ends of its users' presences, as their server is gone.
  case realm(RealmID)
  /// Deliveries of any origin to the sessions of a user, beyond a slice of those that have arrived together.
  case recipient(UserID)
}

/// The deliveries that wait on a lane because they belong to a large fan-out, as a value. Theory:
///
/// Fan-outs are served in slices, and the lane serves others between two slices. The origins take turns, so that a small
/// fan-out does not wait for all of a large one.
///
/// A session has its deliveries in the order in which they were added: while something waits for it, everything further
/// waits behind that, of whatever origin it is. A session is served completely, so that all of its deliveries are written
/// together; one for which more than `Limits.laneStep` wait, such as the link to another server, has so many at a time, and
/// stands behind the others of its origin then.
struct FanOutQueue<Target: Sendable, Item: Sendable>: Sendable {
  /// The items that wait for a session, in order.
  struct Turn: Sendable {
    let target: Target
    let first: Item
    let rest: [Item]
    /// The number of deliveries that the items are counted as.
    let weight: Int
  }

  /// The items that wait for one session, in order.
  private struct Waiting: Sendable {
    let target: Target
    var first: Item
    var rest: [Item] = []
    /// The index of the first item of `rest` that waits: those before it have been taken.
    var next = 0
    var weight: Int

    var all: Turn {
      Turn(target: target, first: first, rest: next == 0 ? rest : Array(rest[next...]), weight: weight)
    }

    /// Takes items that are counted as so many together, or those of the last one more. Returns `nil`, and takes nothing,
    /// if none would be left.
    mutating func take(_ most: Int, _ weigh: (Item) -> Int) -> Turn? {
      if weight <= most { return nil }
      var (taken, end) = (weigh(first), next)
      while taken < most, end < rest.count {
        taken += weigh(rest[end])
        end += 1
      }
      if end == rest.count { return nil }
      let turn = Turn(target: target, first: first, rest: Array(rest[next..<end]), weight: taken)
      first = rest[end]
      next = end + 1
      weight -= taken
      // The places of taken items are removed when they are half of the array: at most one move for each of them.
      if 2 * next >= rest.count {
        rest.removeFirst(next)
        next = 0
      }
      return turn
    }
  }

  private let weigh: @Sendable (Item) -> Int
  private var turns: [SessionID: Waiting] = [:]
  /// The sessions that wait, by the origin for which each waits first.
  private var sessions: [FanOut: FIFO<SessionID>] = [:]
  private var origins = FIFO<FanOut>()
  /// The number of items that wait.
  private(set) var count = 0

  /// - Parameter weigh: returns the number of deliveries that an item is counted as in a slice.
  init(_ weigh: @escaping @Sendable (Item) -> Int) { self.weigh = weigh }

  var isEmpty: Bool { count == 0 }

  /// Adds an item of a fan-out, or one for a session for which something waits. Returns `false`, and adds nothing, for any
  /// other item: it need not wait.
  mutating func add(_ item: Item, to target: Target, _ session: SessionID, of fanOut: FanOut?) -> Bool {
    if let place = turns.index(forKey: session) {
      turns.values[place].rest.append(item)
      turns.values[place].weight += weigh(item)
    } else {
      guard let fanOut else { return false }
      turns[session] = Waiting(target: target, first: item, weight: weigh(item))
      if sessions[fanOut] == nil { origins.append(fanOut) }
      sessions[fanOut, default: FIFO()].append(session)
    }
    count += 1
    return true
  }

  /// Takes the next slice: what waits for some sessions, counted as so many deliveries together, or those of the last one
  /// more.
  ///
  /// - Parameter max: the number of items that may wait further; more are taken at once.
  mutating func take(_ most: Int, leaving max: Int) -> [Turn] {
    var taken: [Turn] = []
    var left = most
    while left > 0 || count > max, let origin = origins.popFirst() {
      guard var line = sessions.removeValue(forKey: origin) else { continue }
      while left > 0 || count > max, let session = line.popFirst() {
        guard let (turn, isAll) = takeTurn(of: session) else { continue }
        if !isAll { line.append(session) }
        left -= turn.weight
        count -= 1 + turn.rest.count
        taken.append(turn)
      }
      if line.isEmpty { continue }
      sessions[origin] = line
      origins.append(origin)
    }
    return taken
  }

  /// Takes what waits for a session, or the first piece of it.
  private mutating func takeTurn(of session: SessionID) -> (turn: Turn, isAll: Bool)? {
    guard let place = turns.index(forKey: session) else { return nil }
    if let piece = turns.values[place].take(Limits.laneStep, weigh) { return (piece, false) }
    return (turns.remove(at: place).value.all, true)
  }
}

/// A queue whose first element is taken in constant time, and is not kept then.
struct FIFO<Element: Sendable>: Sendable {
  private var elements: [Element?] = []
  private var next = 0

  var isEmpty: Bool { next == elements.count }
  var first: Element? { isEmpty ? nil : elements[next] }

  mutating func append(_ element: Element) { elements.append(element) }

  mutating func prepend(_ element: Element) {
    if next == 0 { return elements.insert(element, at: 0) }
    next -= 1
    elements[next] = element
  }

  mutating func popFirst() -> Element? {
    if isEmpty { return nil }
    let element = elements[next]
    elements[next] = nil
    next += 1
    // The places of taken elements are removed when they are half of the array: at most one move for each of them.
    if 2 * next >= elements.count, next >= 64 || isEmpty {
      elements.removeFirst(next)
      next = 0
    }
    return element
  }
}
