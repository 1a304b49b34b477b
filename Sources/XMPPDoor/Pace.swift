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
/// waits until the client has confirmed them.
///
///     following -arrived, lags-> behind -resume-> reading -page, lags-> behind
///                                                 reading -page up to head-> following
///     following -replay-> replaying -full page-> waiting -confirmed-> replaying
///                         replaying -last page-> reading, or following
///
/// In every state each entry is told once and in order, or is behind `missed`.
struct Pace: Equatable {
  enum State: Equatable {
    case following
    /// What is behind `from` waits in the log.
    case behind(from: Position)
    /// Reading behind `from`; live entries up to `head` are known to be there.
    case reading(from: Position, head: Position)
    /// As `reading`, of messages that nobody has confirmed; `waits`: for the
    /// confirmation of those up to `from`.
    case replaying(from: Position, head: Position, waits: Bool)
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
    case .replaying(let from, let head, let waits):
      state = .replaying(from: from, head: max(head, position), waits: waits)
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
    state = .replaying(from: position, head: .zero, waits: false)
  }

  /// A page of unconfirmed messages has been told, which was read when the log
  /// ended at `end`. The position behind which to read the log; nil: none.
  mutating func replayed(through last: Position?, isFull: Bool, end: Position) -> Position? {
    guard case .replaying(_, let head, _) = state else { return nil }
    if isFull, let last {
      state = .replaying(from: last, head: head, waits: true)
      return nil
    }
    guard head > end else {
      state = .following
      return nil
    }
    state = .reading(from: end, head: head)
    return end
  }

  /// The client has everything up to `position`. The position behind which to
  /// read the next page of the replay; nil: none is due.
  mutating func confirmed(_ position: Position) -> Position? {
    guard case .replaying(let from, let head, waits: true) = state, position >= from else { return nil }
    state = .replaying(from: from, head: head, waits: false)
    return from
  }
}
