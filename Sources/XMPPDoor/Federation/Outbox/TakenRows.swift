import Dialogs
import NIOCore

/// The rows that another server has taken, on their way out of the outbox, as a value. One post at a time removes them.
/// While more rows are under way, those that are taken within `FederationLimits.takenGathered` are removed together: a
/// commit for each acknowledgement would cost a busy pair as much as its messages.
struct TakenRows: Equatable, Sendable {
  /// The token of the posts; those of `LinkWork` follow it.
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

  /// The time from which on `post(at:)` has something to return; `nil` if there is nothing, or a post is under way.
  var deadline: NIODeadline? { isPosting || next == nil ? nil : due }

  /// Returns the position to post now.
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
