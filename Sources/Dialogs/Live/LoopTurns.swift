/// The work of an event loop for connections that send much, as a value. Theory:
///
/// A loop does the work of all sockets that have input before it looks at any of them again. A bound of what one connection does at once
/// is not enough: a hundred connections do a hundred times as much, and everybody else waits. Therefore a *turn* of the loop has a bound
/// of time for all connections together. Input that arrives when the time is used up waits. It is handled in *slices*, and the loop looks
/// at its sockets between two slices, so that it can handle logins and messages of others.
///
/// In a slice the networks of those who wait take turns, and the connections of a network in those of the network (`Turns`). Each job that
/// waits at the beginning of a slice, or another one in its place, is done once, as long as the slice has time. A connection that has more
/// to do waits again.
///
/// A turn begins with the first look at the clock, which comes after a number of elements (`Limits.laneTurnStep`), and ends as soon as the
/// loop does what was executed on it meanwhile. So a loop that has little to do looks at no clock for most elements.
struct LoopTurns<Owner: Hashable, Job> {
  typealias Instant = ContinuousClock.Instant

  private let time: Duration
  private var waiting = Turns<Owner, Job>(max: 1, perOwnerMax: 1)
  private var waitingCount = 0
  /// Whether a slice is under way or will be.
  private var isServed = false
  /// The jobs that may still begin in the slice.
  private var left = 0
  /// The connection whose job is under way, and its network.
  private var underWay: (owner: Owner?, network: Owner?)?
  /// The beginning of the turn or slice.
  private var began: Instant?
  /// Whether the turn or slice has used up its time.
  private(set) var isOver = false

  /// - Parameter time: The time of a turn, and of a slice.
  init(time: Duration) { self.time = time }

  /// Notes that the loop has worked. Returns whether a turn begins with it; then `turnEnded` must be called when it ends.
  mutating func worked(until now: Instant) -> Bool {
    guard let began else {
      self.began = now
      return true
    }
    if now - began >= time { isOver = true }
    return false
  }

  mutating func turnEnded() { (began, isOver) = (nil, false) }

  /// Adds a job of an owner for whom none waits. Returns whether a slice must be scheduled.
  ///
  /// - Parameter network: The owner that stands for the network; `nil` if the owner takes turns with all networks.
  mutating func add(_ job: Job, of owner: Owner, in network: Owner?) -> Bool {
    waiting.add(job, of: owner, in: network)
    waitingCount += 1
    defer { isServed = true }
    return !isServed
  }

  mutating func beginSlice(at now: Instant) {
    (began, isOver) = (now, false)
    left = waitingCount
  }

  /// Returns the next job of the slice; `nil` if the slice ends. The job before it has ended.
  mutating func next(at now: Instant) -> Job? {
    if let ended = underWay { waiting.end(ended.owner, in: ended.network) }
    underWay = nil
    if let began, now - began >= time { isOver = true }
    guard !isOver, left > 0, let next = waiting.next() else { return nil }
    underWay = (next.owner, next.network)
    left -= 1
    waitingCount -= 1
    return next.job
  }

  /// Ends the slice. Returns whether it has used up its time, so that the loop needs a pause before the next one; `nil` if nobody waits.
  mutating func endSlice() -> Bool? {
    let wasOver = isOver
    turnEnded()
    isServed = waitingCount > 0
    return isServed ? wasOver : nil
  }
}
