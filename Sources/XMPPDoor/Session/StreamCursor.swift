import Dialogs

/// The place of an XMPP session in the log, with its offline messages, as a value. Theory:
///
/// Its place is a `LogCursor`. Beside it stands the *replay* of offline messages (RFC 6121 8.5.2.2.1, XEP-0160):
/// messages to the user that no client has confirmed are sent with the first presence, from where the user's confirmed
/// messages end, although the log cursor begins where the session was registered. Messages from others to the user
/// therefore have two cursors, and `replayed` divides them: up to there the replay sends them, behind it the log cursor
/// does.
///
/// The replay goes page by page, and waits after each full one until the client has confirmed it; nothing is held
/// meanwhile, since the log has it. Its last page is read in one snapshot with the page behind the log cursor, so both
/// end at the same position, and everything behind that position is delivered or held.
///
///     due     -client is available-> wanted -next-> reading
///     reading -full page-> waiting -confirmed-> wanted
///     reading -rows without messages-> wanted
///     reading -last page-> over
///     reading -interrupt-> wanted
///
/// A client that reads its archive itself gets no messages from before it came (XEP-0313 6.1.1, XEP-0386 3.2), but those
/// that no archive has (`XMPPSession.untold`); the replay sends it the messages from then until it became available.
///
/// While the replay is due, messages to the user that are sent all the same (to the exact resource, RFC 6121 8.5.3.1;
/// copies for a client of negative priority) are noted as `early`, and the replay leaves them out. A client that has
/// not been available at all, and that will get older messages, gets no copies: the replay sends those messages too, in
/// their order.
struct StreamCursor: Equatable, Sendable {
  enum Replay: UInt8, Equatable, Sendable {
    /// The client has not been available to messages yet.
    case due = 0
    /// The page behind `replayed` is to be read.
    case wanted = 1
    case reading = 2
    /// As many messages as are sent at once have been sent. More follow when the client has confirmed them.
    case waiting = 3
    case over = 4
  }

  /// A page that the session reads from the store.
  enum Read: Equatable {
    /// The page of unconfirmed messages behind the first position and, where that is the last, the page of the log
    /// behind the second, in one snapshot.
    case replay(after: Position, log: Position)
    /// The page of the log behind this position.
    case log(after: Position)
  }

  private(set) var log: LogCursor
  private(set) var replay: Replay
  /// The log cursor skips messages to the user at or below this position: they were confirmed before the session came,
  /// or belong to the replay.
  private(set) var replayed: Position
  /// The messages to the user that were sent before the replay, ascending. At `DoorLimits.earlyMessagesMax` the oldest
  /// is forgotten: the replay sends it again.
  private(set) var early: [Position]
  /// The position where the session was registered.
  private let start: Position

  ///
  /// - Parameters:
  ///   - position: where the session was registered, or how far it had been sent when its state was kept.
  ///   - replayed: where the user's confirmed messages ended when the session was registered, or how far the replay had
  ///     come.
  init(
    at position: Position, _ state: LogCursor.State = .following, replay: Replay = .due, replayed: Position,
    early: [Position] = []
  ) {
    log = LogCursor(at: position, state)
    start = position
    self.replay = replay
    self.replayed = replayed
    self.early = early
  }

  /// Whether nothing is missed: new entries are sent as they come.
  var isCaughtUp: Bool { log.state == .following && (replay == .due || replay == .over) }

  /// Notes that the client reads its archive itself: it gets no messages from before it came. Returns the positions of
  /// what it does not get; `nil` if there is nothing.
  @discardableResult
  mutating func readsArchive() -> ClosedRange<Position>? {
    guard replay == .due, replayed < start else { return nil }
    defer { replayed = start }
    return replayed.next...start
  }

  /// Notes that the client is available to messages. The first time, offline messages become due (`next`).
  mutating func becameAvailable() {
    if replay == .due { replay = .wanted }
  }

  /// Returns the page to read now that the client reads on; `nil` if nothing is missed, or if a page is on its way.
  mutating func next() -> Read? {
    switch replay {
    case .wanted:
      // A page of the log that is on its way comes first; it contains no messages to the user.
      guard log.state != .reading else { return nil }
      replay = .reading
      log.hold()
      return .replay(after: replayed, log: log.position)
    case .reading, .waiting: return nil
    case .due, .over: return log.read() ? .log(after: log.position) : nil
    }
  }

  /// Gives up the page that is on its way: it is not sent, and is read again.
  mutating func interrupt() {
    if replay == .reading { replay = .wanted }
    log.interrupt()
  }

  /// Returns whether a message was sent by the replay or behind it, and not `early`. A client that has such a message
  /// has all messages to the user before it.
  func isInOrder(_ position: Position) -> Bool { !early.contains(position) }

  /// Notes that a full page of the replay was sent. More follows when it is confirmed.
  mutating func replayed(through last: Position) {
    replayed = last
    replay = .waiting
    log.interrupt()
  }

  /// Notes that a page of the replay had no messages up to `end`, behind which there may be more: there is nothing to confirm.
  mutating func replayPassed(to end: Position) {
    replayed = end
    replay = .wanted
    log.interrupt()
  }

  /// Notes that the last page of the replay was sent, which was read where the log ended at `end`. The page of the log
  /// follows.
  mutating func replayEnded(at end: Position) {
    replayed = max(replayed, end)
    replay = .over
  }

  /// Notes that the client has everything up to `position`. Returns whether `next` has something to read.
  mutating func confirmed(_ position: Position) -> Bool {
    guard replay == .waiting, position >= replayed else { return false }
    replay = .wanted
    return true
  }

  /// Notes that an entry was delivered. Returns whether to process it now.
  mutating func arrived(_ entry: Entry, _ form: Form, lags: @autoclosure () -> Bool) -> Bool {
    log.arrived(entry, form, lags: lags())
  }

  /// Notes that a page of the log was sent; see `LogCursor.told`.
  mutating func told(through end: Position, isLast: Bool, lags: Bool) -> [LogCursor.Held] {
    log.told(through: end, isLast: isLast, lags: lags)
  }

  /// Returns whether the log cursor sends a message that it has come to and that a replay could send.
  ///
  /// - Parameter isAvailable: whether the client has sent available presence, with whatever priority.
  mutating func tells(_ position: Position, _ form: Form, isAvailable: Bool) -> Bool {
    switch replay {
    case .over: return position > replayed
    case .wanted, .reading, .waiting: return false
    case .due:
      // The replay sends it, behind older messages.
      if form == .carbonReceived, !isAvailable, replayed < start { return false }
      if early.count >= DoorLimits.earlyMessagesMax { early.removeFirst() }
      early.append(position)
      return true
    }
  }
}
