import Dialogs

/// Where a session stands in the log, as a value. Theory:
///
/// A session *follows*: what is committed is told as it comes. A client that
/// does not take in what it is told makes its session fall *behind*: from there
/// on the log keeps what it misses, and nothing is queued. When the client has
/// taken in enough, the session *reads* the log, page by page, behind the last
/// entry it told. What is committed meanwhile is not told but noted as `head`,
/// since the log has it; having read that far the session follows again.
///
/// Offline messages, at the first presence, are *replayed* from where the
/// user's confirmed messages end; after as many as are told at once the replay
/// waits until the client has confirmed them. It ends before the first entry that
/// was committed meanwhile: from there on the log is read, for of other entries
/// than messages to the user (copies, roster pushes) a replay has none.
///
///     following -arrived, lags-> behind -resume-> reading -page, lags-> behind
///                                                 reading -page up to head-> following
///     following -replay-> replaying -full page-> waiting -confirmed-> replaying
///                         replaying -last page-> reading (what came live), or following
///
/// In every state each entry is told once and in order, or is behind `missed`.
struct Pace: Equatable {
  enum State: Equatable {
    case following
    /// What is behind `from` waits in the log.
    case behind(from: Position)
    /// Reading behind `from`; live entries up to `head` are known to be there.
    case reading(from: Position, head: Position)
    /// Of messages that nobody has confirmed; live entries from `live.first` up
    /// to `live.head` are known to be there. `waits`: for the confirmation of those
    /// up to `from`.
    case replaying(from: Position, live: Live?, waits: Bool)
  }

  struct Live: Equatable {
    let first: Position
    let head: Position
  }
  private(set) var state: State

  /// A new session, or one that is back and has missed what is behind `missed`.
  init(missed: Position? = nil) { state = missed.map { .behind(from: $0) } ?? .following }

  /// What came before `position` is being told: a room that is being entered.
  init(reading position: Position) { state = .reading(from: position, head: position) }

  /// From where the log has to be read on; nil: nothing is missed.
  var missed: Position? {
    switch state {
    case .following: nil
    case .behind(let from), .reading(let from, _), .replaying(let from, _, _): from
    }
  }

  var waits: Bool {
    if case .replaying(_, _, waits: true) = state { true } else { false }
  }

  /// An entry was committed. True: tell it now.
  mutating func arrived(_ position: Position, lags: Bool) -> Bool {
    switch state {
    case .following:
      if lags { state = .behind(from: position.previous) }
      return !lags
    case .behind: break
    case .reading(let from, let head): state = .reading(from: from, head: max(head, position))
    case .replaying(let from, let live, let waits):
      let live = Live(first: live?.first ?? position, head: max(live?.head ?? position, position))
      state = .replaying(from: from, live: live, waits: waits)
    }
    return false
  }

  /// The client takes things in again, or is back. The position behind which
  /// to read a page; nil: nothing is missed, or it is being read.
  mutating func resume() -> Position? {
    guard case .behind(let from) = state else { return nil }
    state = .reading(from: from, head: from)
    return from
  }

  /// A page of the log has been told. `last`: its last entry, nil where it was
  /// empty (a marker that was noted has been superseded meanwhile); `isFull`:
  /// there may be more. The position behind which to read the next; nil: none.
  mutating func told(through last: Position?, isFull: Bool, lags: Bool) -> Position? {
    guard case .reading(_, let head) = state else { return nil }
    guard let last else {
      state = .following
      return nil
    }
    if lags {
      state = .behind(from: last)
      return nil
    }
    guard isFull || head > last else {
      state = .following
      return nil
    }
    state = .reading(from: last, head: head)
    return last
  }

  /// The first presence: unconfirmed messages behind `position` are to be read.
  mutating func replay(after position: Position) {
    state = .replaying(from: position, live: nil, waits: false)
  }

  /// Whether the replay tells this message; else it is read behind it.
  func replays(_ position: Position) -> Bool {
    if case .replaying(_, let live?, _) = state { position < live.first } else { true }
  }

  /// A page of unconfirmed messages up to `last` was read, and told as far as the
  /// replay goes. The position behind which to read the log; nil: none.
  mutating func replayed(through last: Position?, isFull: Bool) -> Position? {
    guard case .replaying(_, let live, _) = state else { return nil }
    if isFull, let last, replays(last) {
      state = .replaying(from: last, live: live, waits: true)
      return nil
    }
    guard let live else {
      state = .following
      return nil
    }
    state = .reading(from: live.first.previous, head: live.head)
    return live.first.previous
  }

  /// The client has everything up to `position`. The position behind which to
  /// read the next page of the replay; nil: none is due.
  mutating func confirmed(_ position: Position) -> Position? {
    guard case .replaying(let from, let live, waits: true) = state, position >= from else { return nil }
    state = .replaying(from: from, live: live, waits: false)
    return from
  }
}
