import Dialogs
import NIOCore

/// Notices rows of the outbox that another server has not taken for some time, as a value. It looks once for all rows that
/// were owed until the last look, so that a busy link does nothing for each.
struct OverdueRows: Equatable, Sendable {
  /// The time of the next look; `nil` if nothing is owed.
  private(set) var deadline: NIODeadline?
  /// The last row that the next look is about, and the last one of all.
  private var through = Position.zero
  private var last = Position.zero

  private static let time = TimeAmount(Limits.queuedAfter)

  /// Notes that rows up to a position are owed.
  mutating func owed(through position: Position, at now: NIODeadline) {
    last = max(last, position)
    if deadline == nil { (through, deadline) = (last, now + Self.time) }
  }

  /// Returns the position up to which rows have waited for too long; `nil` if there are none, or it is not time.
  ///
  /// - Parameter taken: The position up to which rows were taken.
  mutating func look(taken: Position, at now: NIODeadline) -> Position? {
    guard let deadline, deadline <= now else { return nil }
    let overdue = taken < through ? through : nil
    if taken < last, through < last {
      (through, self.deadline) = (last, now + Self.time)
    } else {
      self.deadline = nil
    }
    return overdue
  }
}
