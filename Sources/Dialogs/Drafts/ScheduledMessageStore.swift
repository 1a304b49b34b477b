public import Basics

/// Reads scheduled messages from a store.
public protocol ScheduledMessageReader {
  func scheduled(_ id: Int64, of user: UserID) throws -> ScheduledMessage?
  /// Returns a user's scheduled messages, by the time at which they are due, then by id.
  func scheduled(of user: UserID) throws -> [ScheduledMessage]
  func scheduledCount(of user: UserID) throws -> Int
  /// Returns all users' messages that have not failed and are due at `time`, the earliest first.
  func dueScheduled(at time: Timestamp, limit: Int) throws -> [ScheduledMessage]
  /// Returns the time when the next message that has not failed is due; `nil` if there is none.
  func nextDue() throws -> Timestamp?
}

/// Writes scheduled messages to a store.
public protocol ScheduledMessageWriter: ScheduledMessageReader {
  /// Inserts or replaces a scheduled message.
  func put(_ scheduled: ScheduledMessage) throws
  func removeScheduled(_ id: Int64, of user: UserID) throws
}
