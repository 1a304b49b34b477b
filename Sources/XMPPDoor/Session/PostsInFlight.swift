import Dialogs

/// The posts of a session whose outcome is awaited, the work that waits behind them, and the posts that wait behind such
/// work: none overtakes the other (RFC 6120 10.1). Outcomes come in the order of the posts.
struct PostsInFlight {
  struct Posted {
    /// The number of the stanza (XEP-0198); `nil` where it is not counted.
    let number: UInt64?
    let then: ((Result<Receipt, Problem>) -> Void)?
  }

  private var lastToken: UInt64 = 0
  private var posted: [Posted] = []
  private var head = 0
  /// Work that waits for the outcome of a post, and posts (`nil`), which only keep their place.
  private var waiting: [(after: UInt64?, bytes: Int, run: () -> Void)] = []
  /// The bytes of the stanzas that wait so.
  private var waitingBytes = 0
  /// Whether work runs which belongs to a stanza before those that wait: what it posts does not wait behind them.
  var isRunning = false
  /// The last post that earlier work made when its turn came. Stanzas that waited behind it wait for that post, too, so
  /// that all take effect in their order.
  private var floor: UInt64 = 0
  /// `lastToken` when work last began.
  private var before: UInt64 = 0

  var isEmpty: Bool { head == posted.count }
  /// The number of posts that are under way, and of what waits behind them.
  var count: Int { posted.count - head + waiting.count }
  /// Whether the session stops reading until there is room.
  var isFull: Bool { posted.count - head >= DoorLimits.postsInFlightMax }
  var hasRoom: Bool { posted.count - head < DoorLimits.postsInFlightMax / 2 }
  /// Whether work waits for posts, other than that which runs.
  var hasWaiting: Bool { !waiting.isEmpty && !isRunning }
  /// Whether nothing is under way.
  var isDone: Bool { isEmpty && waiting.isEmpty }
  var isWaitingFull: Bool {
    waiting.count > DoorLimits.waitingTurnsMax || waitingBytes >= DoorLimits.waitingTurnsBytesMax
  }

  /// Adds a post. Returns the token of its outcome, above 0.
  mutating func add(number: UInt64?, then: ((Result<Receipt, Problem>) -> Void)?) -> UInt64 {
    lastToken += 1
    posted.append(Posted(number: number, then: then))
    return lastToken
  }

  /// Removes and returns the post whose outcome has come; `nil` if none is awaited.
  mutating func settle() -> Posted? {
    if isEmpty { return nil }
    let done = posted[head]
    head += 1
    if isEmpty {
      posted.removeAll(keepingCapacity: posted.count <= DoorLimits.postsInFlightMax)
      head = 0
    }
    return done
  }

  /// Keeps work that runs once all posts so far have their outcome.
  ///
  /// - Parameter bytes: the memory of the stanza that the work is for.
  mutating func wait(bytes: Int = 0, _ run: @escaping () -> Void) { keep(run, after: lastToken, bytes) }

  /// Keeps what posts until the work that waits has run.
  ///
  /// - Parameter bytes: as for `wait`.
  mutating func waitToPost(bytes: Int = 0, _ run: @escaping () -> Void) { keep(run, after: nil, bytes) }

  private mutating func keep(_ run: @escaping () -> Void, after token: UInt64?, _ bytes: Int) {
    waiting.append((token, bytes, run))
    waitingBytes += bytes
  }

  /// Whether the turn of the next waiting work has come: the posts that it waits for have their outcomes.
  var isNextDue: Bool {
    guard let next = waiting.first else { return false }
    guard let after = next.after else { return true }
    return max(after, floor) <= lastToken - UInt64(posted.count - head)
  }

  /// Removes and returns the next waiting work, whose turn must have come. The caller runs it and then calls `ran`.
  mutating func next() -> () -> Void {
    begin()
    let next = waiting.removeFirst()
    waitingBytes -= next.bytes
    return next.run
  }

  /// Notes that work begins (`isRunning`). The caller runs it and then calls `ran`.
  mutating func begin() {
    before = lastToken
    isRunning = true
  }

  /// Notes that the work which `next` returned, or that `begin` was called for, has run, and may have posted.
  mutating func ran() {
    isRunning = false
    if lastToken > before { floor = lastToken }
  }

  /// Removes and returns what waits to post, since the work before it will never run.
  mutating func takeWaitingPosts() -> [() -> Void] {
    defer { (waiting, waitingBytes) = ([], 0) }
    return waiting.filter { $0.after == nil }.map { $0.run }
  }
}
