/// The place of a session in the log, as a value. Every session of every door has one, and each room that an XMPP session is
/// entering has one of its own. Theory:
///
/// `position` is the place: what concerns the session at or below it has been told to its client, and nothing above it has. Two
/// sources bring entries, both ascending:
///
/// - *live*: what the committer delivers. From the position at which the session was registered on, every entry that concerns
///   it is delivered once, and in the order of the log. A session that moves to another event loop moves at one position
///   (`Intent.handOver`): deliveries below it are taken by the former self, the others by the new one.
/// - *pages*: what is read from the store behind `position`, in one snapshot of the log (`LogPage`).
///
/// An entry can be read before it is delivered, since the commit comes before the telling, and delivered before it is read. So
/// the position decides, and not the source: what comes at or below it is dropped, which excludes repeats. While a page is on
/// its way live entries are held. A page that is the last one holds everything up to the end of the log in its snapshot; what
/// was committed behind that end is delivered behind it, so it is among what is held, or still to come, which excludes gaps.
/// When too many are held they are dropped, and one more page brings them: its snapshot is later than their commits.
///
///     following -arrived-> following (told)
///     following -arrived, client lags-> behind
///     behind    -arrived-> behind (the log has it)
///     behind    -read-> reading
///     following -hold-> reading
///     following -miss-> behind
///     reading   -arrived-> reading (held)
///     reading   -last page, nothing dropped-> following (what is held above the page is told)
///     reading   -any other page, interrupt-> behind (what is held is dropped)
public struct LogCursor: Equatable, Sendable {
  public enum State: Equatable, Sendable {
    /// Entries are told as they come.
    case following
    /// The client takes nothing in at the moment, or is away. Nothing is kept for it: the log has what it misses.
    case behind
    /// A page behind `position` is on its way.
    case reading
  }

  /// An entry that was delivered while a page was on its way.
  public struct Held: Equatable, Sendable {
    public let entry: Entry
    public let form: Form

    /// The same entry in the same form.
    public static func == (a: Held, b: Held) -> Bool { a.entry === b.entry && a.form == b.form }
  }

  public private(set) var position: Position
  public private(set) var state: State
  private var held: [Held] = []
  /// Something above `position` was neither told nor held: more came than is held, or `miss` said so. The log has it.
  private var isMissing = false

  /// - Parameter position: where the session was registered, or what its client says that it has.
  public init(at position: Position, _ state: State = .following) {
    self.position = position
    self.state = state
  }

  /// An entry was delivered.
  ///
  /// - Parameter lags: the client takes nothing in at the moment.
  /// - Returns: whether to tell it now.
  public mutating func arrived(_ entry: Entry, _ form: Form, lags: @autoclosure () -> Bool = false) -> Bool {
    guard entry.position > position else { return false }
    switch state {
    case .following:
      if lags() {
        state = .behind
        return false
      }
      position = entry.position
      return true
    case .behind: return false
    case .reading:
      if isMissing { return false }
      if held.count < Limits.heldEntriesMax {
        held.append(Held(entry: entry, form: form))
      } else {
        held = []
        isMissing = true
      }
      return false
    }
  }

  /// The client takes things in again. Returns whether the page behind `position` is to be read: false where nothing is missed,
  /// and where a page is on its way.
  public mutating func read() -> Bool {
    guard state == .behind else { return false }
    state = .reading
    return true
  }

  /// Notes that a page behind `position` is on its way, although nothing is known to be missed: entries are held from now on.
  public mutating func hold() { state = .reading }

  /// Notes that the session has passed over something that this cursor has to tell. The log has it.
  public mutating func miss() {
    switch state {
    case .following: state = .behind
    case .behind: break
    case .reading: isMissing = true
    }
  }

  /// Gives up the page that is on its way: it will not be told, and is read again.
  public mutating func interrupt() {
    guard state == .reading else { return }
    state = .behind
    held = []
    isMissing = false
  }

  /// Moves the cursor to the end of a page that has been told. Where more is missed it is behind again, and `read` says so.
  ///
  /// - Parameters:
  ///   - end: the page holds everything up to here.
  ///   - isLast: `end` is the end of the log in the page's snapshot.
  ///   - lags: the client takes nothing in at the moment.
  /// - Returns: what came meanwhile and is to be told now, as the cursor follows again.
  public mutating func told(through end: Position, isLast: Bool, lags: Bool = false) -> [Held] {
    guard state == .reading else { return [] }
    position = max(position, end)
    if !isLast || isMissing || lags {
      interrupt()
      return []
    }
    let above = held.filter { $0.entry.position > position }
    held = []
    state = .following
    if let last = above.last { position = last.entry.position }
    return above
  }

  /// Moves the cursor over entries that are not told: the client has been told to fetch its dialogs anew.
  public mutating func skip(to position: Position) { self.position = max(self.position, position) }
}

/// A page of what a session follows, read in one snapshot of the log.
public struct LogPage: Sendable {
  /// Ascending, all behind the position that was asked for.
  public let entries: [Entry]
  /// Everything that concerns the session up to here is in `entries`, or was before them.
  public let end: Position
  /// The page was not full: `end` is the end of the log in the snapshot.
  public let isLast: Bool

  public init(entries: [Entry], end: Position, isLast: Bool) {
    self.entries = entries
    self.end = end
    self.isLast = isLast
  }
}

extension StoreReader {
  /// Returns the page of the user's feed behind a position, merged with what is said in rooms.
  ///
  /// - Parameters:
  ///   - rooms: each with the position behind which the session follows it.
  ///   - all: with what app clients are not told (`FeedRow.Traits.unfollowed`).
  public func page(
    of user: UserID, rooms: [(room: DialogID, since: Position)], after: Position, limit: Int, all: Bool = false
  ) throws -> LogPage {
    let entries = try feed(of: user, rooms: rooms, after: after, limit: limit, all: all)
    if entries.count >= limit, let last = entries.last {
      return LogPage(entries: entries, end: last.position, isLast: false)
    }
    return LogPage(entries: entries, end: max(after, try head().position), isLast: true)
  }
}
