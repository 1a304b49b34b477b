import Dialogs

/// The place of a stream in the outbox of its pair, as a value. Theory:
///
/// Rows at or below `position` have been written to the stream, and none above it. Rows are delivered as they are
/// committed (`Delivery.owed`), and read in pages from the store; both ascend. A row can be read before it is delivered, so
/// only the position decides whether to write it. A row that is delivered while a page is being read may be missing in that
/// page, so one more page follows. A stream with the maximum of rows under way falls behind; the outbox keeps later rows.
///
///     behind    -read-> reading
///     reading   -last page-> following, or behind if a row came meanwhile
///     following -row, stream lags-> behind
struct OutboxCursor: Equatable, Sendable {
  enum State: Equatable, Sendable {
    case behind
    case reading(hasMissed: Bool)
    case following
  }
  private(set) var position: Position
  private(set) var state = State.behind

  /// Creates the place of a new stream.
  ///
  /// - Parameter position: The position up to which rows have been taken.
  init(at position: Position) { self.position = position }

  /// Processes a delivered row. Returns whether to write it now.
  mutating func arrived(_ row: Position, lags: Bool) -> Bool {
    guard row > position else { return false }
    switch state {
    case .behind: return false
    case .reading:
      state = .reading(hasMissed: true)
      return false
    case .following:
      if lags { state = .behind } else { position = row }
      return !lags
    }
  }

  /// Returns whether to read the page behind `position`.
  mutating func read() -> Bool {
    guard state == .behind else { return false }
    state = .reading(hasMissed: false)
    return true
  }

  /// Notes that a page was written through a position; `isLast` if it was not full and all of it was written.
  mutating func told(through end: Position?, isLast: Bool) {
    guard case .reading(let hasMissed) = state else { return }
    if let end { position = max(position, end) }
    state = isLast && !hasMissed ? .following : .behind
  }
}
