import Dialogs

/// Follows one user's feed for one client of the app, as a value: a `LogCursor`, with a bound on how much a client may
/// have missed. Theory:
///
/// The client sends the cursor of its last event; the entries after it are *replayed*, page by page, until the session
/// has caught up. A client that has missed more than `behindMax` entries is told to fetch its dialogs anew instead
/// (`resync`), and continues at the end of the log.
struct FeedFollower: Equatable, Sendable {
  enum Next: Equatable, Sendable {
    /// Send these entries, and then live ones. `caughtUp` is the position for `caught_up`, the first time.
    case live(held: [LogCursor.Held], caughtUp: Position?)
    /// There are too many to replay: send `resync` with the cursor's position, which is now the end of the log, then
    /// continue reading.
    case resync
    /// More is missed: continue reading.
    case more
  }

  private(set) var log: LogCursor
  private(set) var isCaughtUp = false
  private var replayed = 0
  private let behindMax: Int

  /// Begins behind `cursor`; `nil` for new entries only. A page is read in any case, with the numbers for `caught_up`.
  init(behind cursor: Position?, attended: Position, behindMax: Int = Limits.feedBehindMax) {
    log = LogCursor(at: min(cursor ?? attended, attended), .behind)
    self.behindMax = behindMax
  }

  /// The position up to which everything has been sent.
  var told: Position { log.position }

  /// Processes a live entry. Returns whether to send it now.
  ///
  /// - Parameter lags: whether the client does not read.
  mutating func deliver(_ entry: Entry, _ form: Form, lags: @autoclosure () -> Bool = false) -> Bool {
    log.arrived(entry, form, lags: lags())
  }

  /// Continues after the client reads. Returns the position behind which to read a page; `nil` if nothing is missed, or
  /// a page is being read.
  mutating func read() -> Position? { log.read() ? log.position : nil }

  /// Moves to the end of the log if entries that were missed have gone by their age, up to `expired`. Returns whether
  /// this is so: then send `resync` with the cursor's position in place of the page that was read.
  mutating func skipsGone(_ expired: Position, head: Position) -> Bool {
    guard !isCaughtUp, log.position < expired else { return false }
    log.interrupt()
    log.skip(to: head)
    return true
  }

  /// Abandons the page being read, as the client does not read; it is read again later.
  mutating func interrupt() { log.interrupt() }

  /// Records that a page was sent, read in a snapshot whose log ended at `head`.
  mutating func told(_ page: LogPage, head: Position) -> Next {
    let held = log.told(through: page.end, isLast: page.isLast)
    if log.state == .following {
      defer { isCaughtUp = true }
      return .live(held: held, caughtUp: isCaughtUp ? nil : page.end)
    }
    guard !isCaughtUp, !page.isLast else { return .more }
    replayed += page.entries.count
    guard replayed >= behindMax else { return .more }
    // Live entries are no replay, so the bound cannot be reached again.
    replayed = 0
    log.skip(to: head)
    return .resync
  }
}
