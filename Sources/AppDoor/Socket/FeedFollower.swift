import Dialogs

/// Follows one user's feed for one client, without a gap and without a repeat.
/// Pure: it says what to read and what to tell, the session does it.
///
/// Theory. `told` is the log position up to which the client has been told
/// everything that concerns it. Two sources bring entries: pages read from the
/// store, ascending behind `told`, and live deliveries, ascending too, which
/// begin behind the position at which the session was registered. Whatever lies
/// at or below `told` has been told and is dropped, whichever way it comes: that
/// excludes repeats. A page is read in one snapshot of the log; a page that is
/// not full holds everything up to the snapshot's head, so `told` rises to the
/// head, and what is committed behind the head comes live: that excludes gaps.
///
/// States:
/// - `reading`: a page is wanted or on its way. Live entries are held; when too
///   many are, they are dropped (`missed`), and one more page will bring them.
/// - `live`: entries are told as they come.
/// - `stalled`: the client does not read. Nothing is read from the store, live
///   entries are held or missed. Memory stays bounded, however slow the client.
///
/// Events: `deliver` (live), `page` (from the store), `stall` and `resume` (the
/// channel's writability).
struct FeedFollower: Sendable {
  private enum State: Sendable { case reading, live, stalled }

  /// A live entry that waits, as it was delivered.
  struct Held: Sendable {
    let entry: Entry
    let isVeiled: Bool
    var position: Position { entry.position }
  }

  enum Next: Sendable {
    /// Read the page behind `told`, then call `page`.
    case read
    /// Everything is told up to `told`; these came meanwhile and are to be told
    /// now. The first time, `caughtUp` is the position to say `caught_up` with.
    case live(held: [Held], caughtUp: Position?)
    /// Too many to replay: say `resync` with `told`, which has risen to the head,
    /// then read on from there.
    case resync
    /// The client does not read; go on after `resume`.
    case wait
  }

  private(set) var told: Position
  private(set) var isCaughtUp = false
  private var state: State
  private var held: [Held] = []
  private var missed = false
  private var isPageAwaited = false
  private var replayed = 0
  private let behindMax: Int

  /// Begins behind `cursor`; nil: only what is new.
  init(behind cursor: Position?, attended: Position, behindMax: Int = Limits.feedBehindMax) {
    told = min(cursor ?? attended, attended)
    state = .reading
    self.behindMax = behindMax
  }

  /// A page is read first of all, also where nothing can have been missed: it
  /// brings the numbers that `caught_up` tells.
  mutating func begin() -> Next { more() }

  /// A live entry. True: tell it now.
  mutating func deliver(_ entry: Entry, isVeiled: Bool = false) -> Bool {
    guard entry.position > told else { return false }
    switch state {
    case .live:
      told = entry.position
      return true
    case .reading, .stalled:
      if missed { return false }
      if held.count < AppLimits.heldMax {
        held.append(Held(entry: entry, isVeiled: isVeiled))
      } else {
        held = []
        missed = true
      }
      return false
    }
  }

  /// A page, read behind `told` in a snapshot whose log ended at `head`; `isLast`
  /// where it was not full. Returns what of it to tell, and what to do then.
  mutating func page(_ entries: [Entry], head: Position, isLast: Bool) -> (tell: [Entry], next: Next) {
    isPageAwaited = false
    let before = told
    let fresh = entries.filter { $0.position > before }
    if let last = fresh.last { told = last.position }
    if !isCaughtUp { replayed += fresh.count }
    if isLast {
      if head > told { told = head }
      if missed {
        missed = false
        held = []
        return (fresh, more())
      }
      if state == .stalled { return (fresh, .wait) }
      return (fresh, goLive())
    }
    if !isCaughtUp && replayed >= behindMax {
      // What comes now is no replay any more, so it cannot be too much again.
      replayed = 0
      if head > told { told = head }
      return (fresh, .resync)
    }
    return (fresh, more())
  }

  private mutating func goLive() -> Next {
    let end = told
    let now = held.filter { $0.position > end }
    held = []
    if let last = now.last { told = last.position }
    state = .live
    defer { isCaughtUp = true }
    return .live(held: now, caughtUp: isCaughtUp ? nil : end)
  }

  private mutating func more() -> Next {
    if state == .stalled { return .wait }
    state = .reading
    isPageAwaited = true
    return .read
  }

  /// After `resync` was said, and wherever else reading must go on.
  mutating func readOn() -> Next { more() }

  /// The client does not read.
  mutating func stall() { state = .stalled }

  /// The client reads again. A page is read even where nothing was missed: it
  /// costs one query, and it is the same path that is proved for the replay.
  mutating func resume() -> Next {
    guard state == .stalled else { return .wait }
    state = .reading
    // The page on its way will say what comes next.
    if isPageAwaited { return .wait }
    return more()
  }
}
