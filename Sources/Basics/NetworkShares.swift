/// The shares that networks have of what is scarce and is held for a while, such as connections before login or downloads, as a
/// value.
///
/// Theory: a bound for all alone would let one network keep all others out, and a bound for each network alone would have to suit
/// both a school behind one address and an attacker. Hence a network may use whatever nobody else asks for, and when everything is
/// in use, the network that holds the most gives up its oldest holding to a newcomer of a network that holds less. The oldest is
/// the least likely to be honest where holdings are short. Among networks that hold the same number, the one that came to it first
/// gives up, so that a holding lasts as long as all others where an attacker has very many networks with one holding each. A
/// newcomer of the network that holds the most is refused, or replaces the oldest of that network, as `replacesOwn` says, or only one
/// of some age (`ownAge`): so of two who share an address, neither keeps the other out by holdings that last, nor ends what has just begun.
///
/// Where there is no room although there are fewer holdings than the most, these may be very few, and then a holding lasts for as
/// short a time as one network needs to come again. There a newcomer that would only change places with another network is refused
/// until the other's oldest holding is old enough for a login. One that would change places with its own network is refused for
/// twice as long, so that others have the first half for themselves and no network keeps the last place by being faster.
public struct NetworkShares: Sendable {
  public typealias ID = Int

  /// An admitted holding, and the one that must end for it.
  public struct Admission: Hashable, Sendable {
    public let id: ID
    public let ended: ID?
  }

  private struct Holding {
    let network: String
    let since: ContinuousClock.Instant
  }

  /// The holdings of one network, the oldest first. Released ones stay in `ids` until they are the most of it.
  private struct Queue {
    var ids: [ID] = []
    var first = 0
    var count = 0
    /// The number of the last change of `count` among those of all networks.
    var change = 0
  }

  /// The networks that hold the same number, in the order in which they came to it. Those that hold another number by now stay
  /// in `entries` until they are the most of it.
  private struct Level {
    var entries: [(network: String, change: Int)] = []
    var first = 0
    var count = 0
  }

  /// The age at which one of few holdings changes hands: a login over a bad network takes some seconds.
  static let undisturbed: Duration = .seconds(10)

  private let max: Int
  private let perNetworkMax: Int
  private let replacesOwn: Bool
  private let ownAge: Duration
  private var next: ID = 0
  private var holdings: [ID: Holding] = [:]
  private var queues: [String: Queue] = [:]
  /// The networks by the number that they hold, and the highest of those numbers.
  private var levels: [Int: Level] = [:]
  private var most = 0
  private var changes = 0

  /// - Parameters:
  ///   - max: The number of holdings of all networks.
  ///   - perNetworkMax: The number of holdings of one network; without it one network may hold all.
  ///   - replacesOwn: Whether a newcomer of a network at its bound replaces the oldest holding of the same network. Otherwise the
  ///     newcomer is refused.
  ///   - ownAge: The age from which the oldest holding is replaced so.
  public init(max: Int, perNetworkMax: Int? = nil, replacesOwn: Bool, ownAge: Duration = .zero) {
    self.max = max
    self.perNetworkMax = perNetworkMax ?? max
    self.replacesOwn = replacesOwn
    self.ownAge = ownAge
  }

  /// The number of holdings.
  public var count: Int { holdings.count }

  /// Returns the number of holdings of a network.
  public func count(_ network: String) -> Int { queues[network]?.count ?? 0 }

  /// Admits a holding. Returns `nil` if it is refused. The holding that ends for it is released already.
  ///
  /// - Parameters:
  ///   - network: An address of IPv4, or a network of IPv6.
  ///   - isFull: Whether there is room only in the place of another holding, although there are fewer than the most.
  ///   - now: The time.
  public mutating func admit(
    _ network: String, isFull: Bool = false, now: ContinuousClock.Instant = .now
  ) -> Admission? {
    let held = count(network)
    var ended: ID?
    if held >= perNetworkMax || count >= max || isFull {
      let mayBeFew = isFull && count < max
      if held < perNetworkMax, most > held, let giver = fullest(),
        !mayBeFew || most > held + 1 || isOld(giver, Self.undisturbed, now: now)
      {
        ended = releaseOldest(giver)
      } else if replacesOwn, held > 0, isOld(network, mayBeFew ? Self.undisturbed * 2 : ownAge, now: now) {
        ended = releaseOldest(network)
      } else {
        return nil
      }
    }
    next += 1
    holdings[next] = Holding(network: network, since: now)
    change(network, by: 1)
    append(next, to: network)
    return Admission(id: next, ended: ended)
  }

  /// Notes the end of a holding. One that has ended already has no effect.
  public mutating func release(_ id: ID) {
    guard let network = holdings.removeValue(forKey: id)?.network else { return }
    change(network, by: -1)
  }

  /// Releases the oldest holding of a network. Returns `nil` if it has none.
  public mutating func releaseOldest(_ network: String) -> ID? {
    guard let id = oldest(network) else { return nil }
    queues[network]?.first += 1
    release(id)
    return id
  }

  /// Returns the oldest holding, which is then the first of its queue.
  private mutating func oldest(_ network: String) -> ID? {
    guard var queue = queues[network] else { return nil }
    while holdings[queue.ids[queue.first]] == nil { queue.first += 1 }
    queues[network] = queue
    return queue.ids[queue.first]
  }

  /// Returns whether the oldest holding has this age.
  private mutating func isOld(_ network: String, _ age: Duration, now: ContinuousClock.Instant) -> Bool {
    if age == .zero { return true }
    guard let id = oldest(network), let since = holdings[id]?.since else { return false }
    return since.duration(to: now) >= age
  }

  private mutating func append(_ id: ID, to network: String) {
    queues[network, default: Queue()].ids.append(id)
    guard let queue = queues[network], queue.ids.count > 2 * queue.count + 16 else { return }
    let kept = queue.ids[queue.first...].filter { holdings[$0] != nil }
    queues[network]?.ids = kept
    queues[network]?.first = 0
  }

  /// Returns the network that came first to the highest number.
  private mutating func fullest() -> String? {
    while let level = levels[most], level.first < level.entries.count {
      let entry = level.entries[level.first]
      if queues[entry.network]?.change == entry.change { return entry.network }
      levels[most]?.first += 1
    }
    return nil
  }

  private mutating func append(_ network: String, toLevel number: Int) {
    levels[number, default: Level()].entries.append((network, changes))
    levels[number]?.count += 1
    guard let level = levels[number], level.entries.count > 2 * level.count + 16 else { return }
    let kept = level.entries[level.first...].filter { queues[$0.network]?.change == $0.change }
    levels[number]?.entries = kept
    levels[number]?.first = 0
  }

  private mutating func change(_ network: String, by step: Int) {
    let before = count(network)
    let now = before + step
    if before > 0 {
      levels[before]?.count -= 1
      if levels[before]?.count == 0 { levels[before] = nil }
    }
    if now > 0 {
      changes += 1
      queues[network, default: Queue()].count = now
      queues[network]?.change = changes
      append(network, toLevel: now)
    } else {
      queues[network] = nil
    }
    if now > most || levels[most] == nil { most = now > most ? now : Swift.max(0, most - 1) }
  }
}
