import Dialogs

/// Follows one user's feed for one client of the app, as a value: a `LogCursor`, and how far behind a client may be that asks
/// for what it missed. Theory:
///
/// The client says up to where it has been told; what it missed since is *replayed*, page by page, until the session has caught
/// up. Who is further behind than `behindMax` entries is told to fetch its dialogs anew instead (`resync`), and goes on at the
/// end of the log.
struct FeedFollower: Equatable, Sendable {
  enum Next: Equatable, Sendable {
    /// These are to be told, and then what comes. The first time, `caughtUp` is the position to say `caught_up` with.
    case live(held: [LogCursor.Held], caughtUp: Position?)
    /// Too many to replay: say `resync` with the cursor's position, which has risen to the end of the log, then read on.
    case resync
    /// More is missed: read on.
    case more
  }

  private(set) var log: LogCursor
  private(set) var isCaughtUp = false
  private var replayed = 0
  private let behindMax: Int

  /// Begins behind `cursor`; nil: only what is new. A page is read in any case: it brings the numbers that `caught_up` tells.
  init(behind cursor: Position?, attended: Position, behindMax: Int = Limits.feedBehindMax) {
    log = LogCursor(at: min(cursor ?? attended, attended), .behind)
    self.behindMax = behindMax
  }

  /// The position up to which everything has been told.
  var told: Position { log.position }

  /// A live entry. Returns whether to tell it now.
  ///
  /// - Parameter lags: the client does not read.
  mutating func deliver(_ entry: Entry, _ form: Form, lags: @autoclosure () -> Bool = false) -> Bool {
    log.arrived(entry, form, lags: lags())
  }

  /// The client reads. The position behind which to read a page; nil: nothing is missed, or a page is on its way.
  mutating func read() -> Position? { log.read() ? log.position : nil }

  /// The client does not read: the page on its way is read again when it does.
  mutating func interrupt() { log.interrupt() }

  /// A page was told, read in a snapshot whose log ended at `head`.
  mutating func told(_ page: LogPage, head: Position) -> Next {
    let held = log.told(through: page.end, isLast: page.isLast)
    if log.state == .following {
      defer { isCaughtUp = true }
      return .live(held: held, caughtUp: isCaughtUp ? nil : page.end)
    }
    guard !isCaughtUp, !page.isLast else { return .more }
    replayed += page.entries.count
    guard replayed >= behindMax else { return .more }
    // What comes now is no replay any more, so it cannot be too much again.
    replayed = 0
    log.skip(to: head)
    return .resync
  }
}
