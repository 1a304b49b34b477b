public import Basics

/// Reads scheduled messages from a store.
public protocol ScheduledMessageReader {
  func scheduled(_ id: Int64, of user: UserID) throws -> ScheduledMessage?
  /// Returns a user's scheduled messages, by the time at which they are due, then by id.
  func scheduled(of user: UserID) throws -> [ScheduledMessage]
  func scheduledCount(of user: UserID) throws -> Int
  /// Returns the authors of all users' messages that have not failed and are due at `time`, the earliest message first; an
  /// author of several messages is returned for each.
  func dueAuthors(at time: Timestamp, limit: Int) throws -> [UserID]
  /// Returns the time after `time` when the next message that has not failed is due; `nil` if there is none.
  func nextDue(after time: Timestamp) throws -> Timestamp?
}

/// Writes scheduled messages to a store.
public protocol ScheduledMessageWriter: ScheduledMessageReader {
  /// Inserts or replaces a scheduled message.
  func put(_ scheduled: ScheduledMessage) throws
  func removeScheduled(_ id: Int64, of user: UserID) throws
}
