/// The order in which jobs of many owners begin, as a value. Theory:
///
/// A queue that all share lets one owner with a thousand jobs go before everybody else. Here each owner has a queue of their own, and
/// the owners take turns: each begins one job at a time, in the order in which they came. An owner has at most `perOwnerMax` jobs
/// under way, so that some place is free for the others at any time. Jobs without an owner are one more queue, which only takes
/// turns.
///
/// A caller of `add` or `end` then calls `next` once, so that no job waits that may begin.
package struct Turns<Owner: Hashable, Job> {
  private struct Queue<Element> {
    private var elements: [Element?] = []
    private var first = 0

    var isEmpty: Bool { first == elements.count }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
      guard first < elements.count else { return nil }
      let element = elements[first]
      elements[first] = nil
      first += 1
      // The places of those that have left are freed when they are half of all.
      if first * 2 >= elements.count {
        elements.removeFirst(first)
        first = 0
      }
      return element
    }
  }

  private struct Line {
    var waiting = Queue<Job>()
    var underWay = 0
    /// Whether the owner is in `order`.
    var isInOrder = false
  }

  private let max: Int
  private let perOwnerMax: Int
  private var underWay = 0
  private var lines: [Owner?: Line] = [:]
  /// The owners of jobs that may begin.
  private var order = Queue<Owner?>()

  /// - Parameters:
  ///   - max: The number of jobs under way.
  ///   - perOwnerMax: The same of one owner.
  package init(max: Int, perOwnerMax: Int) {
    self.max = max
    self.perOwnerMax = perOwnerMax
  }

  /// Adds a job behind those of the same owner.
  package mutating func add(_ job: Job, of owner: Owner?) {
    lines[owner, default: Line()].waiting.append(job)
    putInOrder(owner)
  }

  /// Begins the next job; `nil` if none may begin.
  package mutating func next() -> (job: Job, owner: Owner?)? {
    guard underWay < max, let owner = order.popFirst(), let job = lines[owner]?.waiting.popFirst() else { return nil }
    underWay += 1
    lines[owner]?.underWay += 1
    lines[owner]?.isInOrder = false
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
    guard let line = lines[owner], !line.isInOrder, !line.waiting.isEmpty,
      line.underWay < (owner == nil ? max : perOwnerMax)
    else { return }
    lines[owner]?.isInOrder = true
    order.append(owner)
  }
}
