/// The position of a session in the log, as a value. Every session of every door has one, and each room that an XMPP
/// session is entering has one of its own. Theory:
///
/// Entries at or below `position` that concern the session have been sent to its client, and nothing above it has.
/// Entries come from two sources, both ascending:
///
/// - *live*: deliveries of the committer. From the position at which the session was registered on, every entry that
///   concerns it is delivered once, in the order of the log. A session moves to another event loop at one position
///   (`Intent.handOver`): deliveries below it go to the former session object, the others to the new one.
/// - *pages*: entries read from the store behind `position`, in one snapshot of the log (`LogPage`).
///
/// An entry can be read before it is delivered, since the commit precedes the delivery, and delivered before it is
/// read. So only the position decides: entries at or below it are dropped, which excludes repeats. While a page is being
/// read live entries are held. A last page contains everything up to the end of the log in its snapshot; entries
/// committed after that end are delivered after it, so they are held or will be delivered, which excludes gaps. When too
/// many are held they are dropped, and one more page is read, whose snapshot is later than their commits.
///
///     following -arrived-> following (sent)
///     following -arrived, client lags-> behind
///     behind    -arrived-> behind (it is read from the log later)
///     behind    -read-> reading
///     following -hold-> reading
///     following -miss-> behind
///     reading   -arrived-> reading (held)
///     reading   -last page, nothing dropped-> following (held entries above the page are sent)
///     reading   -any other page, interrupt-> behind (held entries are dropped)
///
/// A door sends an entry if the cursor says so:
///
///     var cursor = LogCursor(at: receipt.position)
///     if cursor.arrived(entry, .direct) { send(entry) }
public struct LogCursor: Equatable, Sendable {
  public enum State: Equatable, Sendable {
    /// Entries are sent as they come.
    case following
    /// The client does not read at the moment, or is disconnected. Nothing is kept for it: missed entries are read from
    /// the log.
    case behind
    /// A page behind `position` is being read.
    case reading
  }

  /// An entry that was delivered while a page was being read.
  public struct Held: Equatable, Sendable {
    public let entry: Entry
    public let form: Form

    /// Returns whether both are the same entry in the same form.
    public static func == (a: Held, b: Held) -> Bool { a.entry === b.entry && a.form == b.form }
  }

  public private(set) var position: Position
  public private(set) var state: State
  private var held: [Held] = []
  /// Whether an entry above `position` was neither sent nor held, because too many arrived or `miss` was called. It is
  /// read from the log later.
  private var isMissing = false

  /// Creates a cursor.
  ///
  /// - Parameter position: the position where the session was registered, or up to which its client has the entries.
  public init(at position: Position, _ state: State = .following) {
    self.position = position
    self.state = state
  }

  /// Processes a delivered entry.
  ///
  /// - Parameter lags: whether the client does not read at the moment.
  /// - Returns: whether to send it now.
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

  /// Begins reading after the client has caught up. Returns whether to read the page behind `position`: `false` if no
  /// entry is missed, or while a page is being read.
  public mutating func read() -> Bool {
    guard state == .behind else { return false }
    state = .reading
    return true
  }

  /// Notes that a page behind `position` is being read, even if no entry is missed. Entries are held from now on.
  public mutating func hold() { state = .reading }

  /// Notes that the session has skipped an entry that this cursor has to send. It is read from the log later.
  public mutating func miss() {
    switch state {
    case .following: state = .behind
    case .behind: break
    case .reading: isMissing = true
    }
  }

  /// Abandons the page that is being read: it will not be sent, and is read again.
  public mutating func interrupt() {
    guard state == .reading else { return }
    state = .behind
    held = []
    isMissing = false
  }

  /// Moves the cursor to the end of a page that has been sent. If more is missed it is behind again, and `read` returns
  /// `true`.
  ///
  /// - Parameters:
  ///   - end: the position up to which the page is complete.
  ///   - isLast: whether `end` is the end of the log in the page's snapshot.
  ///   - lags: whether the client does not read at the moment.
  /// - Returns: the held entries to send now, as the cursor follows again.
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

  /// Moves the cursor over entries that are not sent, since the client was notified to fetch its dialogs again.
  public mutating func skip(to position: Position) { self.position = max(self.position, position) }
}

/// A page of the entries that a session follows, read in one snapshot of the log.
public struct LogPage: Sendable {
  /// The entries, ascending, all behind the requested position.
  public let entries: [Entry]
  /// The position up to which the page is complete.
  public let end: Position
  /// Whether `end` is the end of the log in the snapshot.
  public let isLast: Bool
  /// The places that have been found for further pages; `nil` if there are none.
  public let places: FeedPlaces?
  /// Whether missed entries were searched in this snapshot, or an entry of a known place has been deleted meanwhile: then entries may
  /// have been deleted because of their age.
  public let isSearched: Bool

  public init(
    entries: [Entry], end: Position, isLast: Bool, places: FeedPlaces? = nil, isSearched: Bool = true
  ) {
    self.entries = entries
    self.end = end
    self.isLast = isLast
    self.places = places
    self.isSearched = isSearched
  }
}
