/// The order in which jobs of many owners begin, as a value. Theory:
///
/// A queue that all share lets one owner with a thousand jobs go before everybody else. Here each owner has a queue of their own, and
/// the owners take turns: each begins one job at a time, in the order in which they came. An owner has at most `perOwnerMax` jobs
/// under way, so that some place is free for the others at any time. Jobs without an owner are one more queue, which only takes
/// turns.
///
/// A caller of `add` or `end` then calls `next` once, so that no job waits that may begin.
package struct Turns<Owner: Hashable, Job> {
  private struct Line {
    var waiting = NumberedQueue<Job>()
    var underWay = 0
    /// The number of the owner in `order`; `nil` if the owner is not in it.
    var place: Int?
  }

  private let max: Int
  private let perOwnerMax: Int
  private var underWay = 0
  private var lines: [Owner?: Line] = [:]
  /// The owners of jobs that may begin.
  private var order = NumberedQueue<Owner?>()
  private var lastNumber = 0

  /// - Parameters:
  ///   - max: The number of jobs under way.
  ///   - perOwnerMax: The same of one owner.
  package init(max: Int, perOwnerMax: Int) {
    self.max = max
    self.perOwnerMax = perOwnerMax
  }

  /// Adds a job behind those of the same owner. Returns its number, by which it can be removed.
  @discardableResult
  package mutating func add(_ job: Job, of owner: Owner?) -> Int {
    let number = nextNumber()
    lines[owner, default: Line()].waiting.append(job, as: number)
    putInOrder(owner)
    return number
  }

  /// Removes a job that waits; nothing if it has begun.
  package mutating func remove(_ number: Int, of owner: Owner?) {
    lines[owner]?.waiting.remove(number)
    guard let line = lines[owner], line.waiting.isEmpty else { return }
    if let place = line.place { order.remove(place) }
    lines[owner]?.place = nil
    if line.underWay == 0 { lines[owner] = nil }
  }

  /// Begins the next job; `nil` if none may begin.
  package mutating func next() -> (job: Job, owner: Owner?)? {
    guard underWay < max, let owner = order.popFirst(), let job = lines[owner]?.waiting.popFirst() else { return nil }
    underWay += 1
    lines[owner]?.underWay += 1
    lines[owner]?.place = nil
    putInOrder(owner)
    return (job, owner)
  }

  /// Notes that a job of the owner has ended.
  package mutating func end(_ owner: Owner?) {
    underWay -= 1
    lines[owner]?.underWay -= 1
    guard let line = lines[owner], line.underWay == 0, line.waiting.isEmpty else { return putInOrder(owner) }
    lines[owner] = nil
  }

  private mutating func putInOrder(_ owner: Owner?) {
    guard let line = lines[owner], line.place == nil, !line.waiting.isEmpty,
      line.underWay < (owner == nil ? max : perOwnerMax)
    else { return }
    let place = nextNumber()
    lines[owner]?.place = place
    order.append(owner, as: place)
  }

  private mutating func nextNumber() -> Int {
    lastNumber += 1
    return lastNumber
  }
}
