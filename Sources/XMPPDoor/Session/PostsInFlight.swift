import Dialogs

/// The posts of a session whose outcome is awaited, and the work that waits behind them. Outcomes come in the order of
/// the posts.
struct PostsInFlight {
  struct Posted {
    /// The number of the stanza (XEP-0198); `nil` where it is not counted.
    let number: UInt64?
    let then: ((Result<Receipt, Problem>) -> Void)?
  }

  private var lastToken: UInt64 = 0
  private var posted: [Posted] = []
  private var head = 0
  private var waiting: [(after: UInt64, run: () -> Void)] = []
  /// The last post that a waiting stanza made when its turn came. Stanzas that waited behind it wait for that post,
  /// too, so that all take effect in their order.
  private var floor: UInt64 = 0
  /// `lastToken` when `next` last returned something.
  private var before: UInt64 = 0

  var isEmpty: Bool { head == posted.count }
  /// Whether the session stops reading until there is room.
  var isFull: Bool { posted.count - head >= DoorLimits.postsInFlightMax }
  var hasRoom: Bool { posted.count - head < DoorLimits.postsInFlightMax / 2 }
  /// Whether work waits for posts.
  var hasWaiting: Bool { !waiting.isEmpty }
  var isWaitingFull: Bool { waiting.count > DoorLimits.waitingTurnsMax }

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
  mutating func wait(_ run: @escaping () -> Void) { waiting.append((lastToken, run)) }

  /// Returns the next waiting work whose turn has come with the outcome of this token; `nil` if there is none. The
  /// caller runs it and then calls `ran`.
  mutating func next(settled token: UInt64) -> (() -> Void)? {
    guard let next = waiting.first, max(next.after, floor) <= token else { return nil }
    waiting.removeFirst()
    before = lastToken
    return next.run
  }

  /// Notes that the work which `next` returned has run, and may have posted.
  mutating func ran() {
    if lastToken > before { floor = lastToken }
  }
}
