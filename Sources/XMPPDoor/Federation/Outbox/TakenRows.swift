import Dialogs
import NIOCore

/// The rows that another server has taken, until a post removes them from the outbox, as a value. There is one post at a
/// time. While more rows are under way, those taken within `FederationLimits.takenGathered` are removed together: a commit
/// for each acknowledgement would cost a busy pair as much as its messages.
struct TakenRows: Equatable, Sendable {
  /// The token of these posts; `LinkWork` uses larger ones.
  static let token: UInt64 = 2

  private var isPosting = false
  private var next: Position?
  private var due = NIODeadline.distantFuture

  /// Notes that rows up to a position were taken.
  ///
  /// - Parameter isLast: Whether no other rows are under way.
  mutating func took(_ position: Position, isLast: Bool, at now: NIODeadline) {
    next = max(next ?? position, position)
    due = isLast ? now : min(due, now + FederationLimits.takenGathered)
  }

  /// The time from which `post(at:)` returns a position; `nil` if there is none, or a post is under way.
  var deadline: NIODeadline? { isPosting || next == nil ? nil : due }

  /// Returns the position up to which a post must remove rows now; `nil` for none.
  mutating func post(at now: NIODeadline) -> Position? {
    guard let deadline, deadline <= now else { return nil }
    defer {
      next = nil
      due = .distantFuture
    }
    isPosting = true
    return next
  }

  /// Notes that the post is committed.
  mutating func posted() { isPosting = false }
}
