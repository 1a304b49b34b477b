import Dialogs

/// The rows that another server has taken, on their way out of the outbox, as a value. One post at a time removes them:
/// those that are taken meanwhile are removed together by the next, so that a busy pair costs one write per commit.
struct TakenRows: Equatable, Sendable {
  /// The token of the posts, beside that of `LinkWork`.
  static let token: UInt64 = 2

  private var isPosting = false
  private var next: Position?

  /// Notes that rows up to a position were taken. Returns the position to post now.
  mutating func took(_ position: Position) -> Position? {
    if isPosting {
      next = max(next ?? position, position)
      return nil
    }
    isPosting = true
    return position
  }

  /// Notes that the post is committed. Returns the position to post next.
  mutating func posted() -> Position? {
    defer { next = nil }
    isPosting = next != nil
    return next
  }
}
