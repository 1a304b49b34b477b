import Dialogs
import NIOCore

/// Finds rows of the outbox that another server has not taken for some time, as a value. One check covers all rows that were
/// waiting at the previous check, so that a busy link does no work for each row.
struct OverdueRows: Equatable, Sendable {
  /// The time of the next check; `nil` if no row waits.
  private(set) var deadline: NIODeadline?
  /// The last row that the next check covers, and the last row of all.
  private var through = Position.zero
  private var last = Position.zero

  private static let time = TimeAmount(Limits.queuedAfter)

  /// Notes that rows up to a position wait.
  mutating func owed(through position: Position, at now: NIODeadline) {
    last = max(last, position)
    if deadline == nil { (through, deadline) = (last, now + Self.time) }
  }

  /// Returns the position up to which rows have waited too long; `nil` if there are none, or if no check is due.
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
