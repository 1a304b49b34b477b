/// The order in which jobs of many owners begin, as a value. Theory:
///
/// A queue that all share lets one owner with a thousand jobs go before everybody else. Here each owner has a queue of their own, and
/// the owners take turns: each begins one job at a time, in the order in which they came. An owner has at most `perOwnerMax` jobs
/// under way, so that some place is free for the others at any time. Jobs without an owner are one more queue, which only takes
/// turns.
///
/// Owners are not all independent of one another: one person has many accounts for nothing, but not many networks. Therefore the
/// *networks* take turns first, and the owners of a network take turns in those of the network, of which all jobs together leave one
/// place free as well. An owner is in the network that its first waiting job came from. A job that names no network is in one of its
/// owner alone, so that owners without networks take turns as if there were none.
///
/// The free place is for somebody who comes later and would wait until a job ends. Where jobs are known to be short, that is soon: then
/// a network has all places while nobody else waits (`end`), and somebody who comes later gets the first place that is free.
///
/// After `add` one job may begin, and after `end` two: one of the same network, and one that the owner has waiting in another; where
/// `end` gives the network all places, as many as are free. The caller then calls `next` as often, so that no job waits that may
/// begin. Where there are no networks, once is enough.
package struct Turns<Owner: Hashable, Job> {
  /// A job that has begun, with what `end` takes.
  package typealias Begun = (job: Job, owner: Owner?, network: Owner?)

  private struct Line {
    var waiting = NumberedQueue<(job: Job, network: Owner?)>()
    var underWay = 0
    /// The number of the owner in the order of a network; `nil` if the owner is in none.
    var place: (number: Int, network: Owner?)?
  }

  private struct Network {
    /// The owners of jobs that may begin as soon as the network's may.
    var order = NumberedQueue<Owner?>()
    var underWay = 0
    /// Whether it may have all places.
    var mayHaveAll = false
    /// The number of the network in the order of all; `nil` if it is not in it.
    var place: Int?
  }

  private let max: Int
  private let perOwnerMax: Int
  private let perNetworkMax: Int
  private var underWay = 0
  private var lines: [Owner?: Line] = [:]
  private var networks: [Owner?: Network] = [:]
  /// The networks of jobs that may begin.
  private var order = NumberedQueue<Owner?>()
  private var lastNumber = 0

  /// - Parameters:
  ///   - max: The number of jobs under way.
  ///   - perOwnerMax: The same of one owner.
  ///   - perNetworkMax: The same of one network, unless it may have all; `nil` for all but one, or as many as those of an owner.
  package init(max: Int, perOwnerMax: Int, perNetworkMax: Int? = nil) {
    self.max = max
    self.perOwnerMax = perOwnerMax
    self.perNetworkMax = perNetworkMax ?? Swift.max(perOwnerMax, max - 1)
  }

  /// Adds a job behind those of the same owner. Returns its number, by which it can be removed.
  ///
  /// - Parameter network: The owner that stands for the network; `nil` if the owner takes turns with all others.
  @discardableResult
  package mutating func add(_ job: Job, of owner: Owner?, in network: Owner? = nil) -> Int {
    let number = nextNumber()
    lines[owner, default: Line()].waiting.append((job, network ?? owner), as: number)
    putInOrder(owner)
    return number
  }

  /// Removes a job that waits, and returns it; `nil` if it has begun.
  @discardableResult
  package mutating func remove(_ number: Int, of owner: Owner?) -> Job? {
    guard let removed = lines[owner]?.waiting.remove(number), let line = lines[owner] else { return nil }
    if let place = line.place, line.waiting.first?.network != place.network || line.waiting.isEmpty {
      networks[place.network]?.order.remove(place.number)
      lines[owner]?.place = nil
      forget(place.network)
    }
    if line.waiting.isEmpty, line.underWay == 0 { lines[owner] = nil }
    putInOrder(owner)
    return removed.job
  }

  /// Begins the next job; `nil` if none may begin.
  package mutating func next() -> Begun? {
    guard underWay < max, let network = order.popFirst(), let owner = networks[network]?.order.popFirst(),
      let next = lines[owner]?.waiting.popFirst()
    else { return nil }
    underWay += 1
    lines[owner]?.underWay += 1
    lines[owner]?.place = nil
    networks[network]?.underWay += 1
    networks[network]?.place = nil
    putInOrder(owner)
    putInOrder(network: network)
    return (next.job, owner, network)
  }

  /// Notes that a job of the owner has ended.
  ///
  /// - Parameters:
  ///   - network: The one with which it was added or has begun.
  ///   - mayHaveAll: Whether jobs of the network may have all places from now on, until the next one ends or none is left.
  package mutating func end(_ owner: Owner?, in network: Owner? = nil, mayHaveAll: Bool = false) {
    let network = network ?? owner
    underWay -= 1
    lines[owner]?.underWay -= 1
    networks[network]?.underWay -= 1
    networks[network]?.mayHaveAll = mayHaveAll
    if let line = lines[owner], line.underWay == 0, line.waiting.isEmpty { lines[owner] = nil }
    putInOrder(owner)
    putInOrder(network: network)
    forget(network)
  }

  private mutating func putInOrder(_ owner: Owner?) {
    guard let line = lines[owner], line.place == nil, let first = line.waiting.first,
      line.underWay < (owner == nil ? max : perOwnerMax)
    else { return }
    let number = nextNumber()
    lines[owner]?.place = (number, first.network)
    networks[first.network, default: Network()].order.append(owner, as: number)
    putInOrder(network: first.network)
  }

  private mutating func putInOrder(network name: Owner?) {
    guard let network = networks[name], network.place == nil, !network.order.isEmpty,
      network.underWay < (name == nil || network.mayHaveAll ? max : perNetworkMax)
    else { return }
    let number = nextNumber()
    networks[name]?.place = number
    order.append(name, as: number)
  }

  /// Removes a network of which nothing may begin from the order, and altogether if nothing of it is under way.
  private mutating func forget(_ name: Owner?) {
    guard let network = networks[name], network.order.isEmpty else { return }
    if let place = network.place { order.remove(place) }
    networks[name]?.place = nil
    if network.underWay == 0 { networks[name] = nil }
  }

  private mutating func nextNumber() -> Int {
    lastNumber += 1
    return lastNumber
  }
}
