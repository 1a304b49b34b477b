/// Drafts and scheduled messages in a store.
public protocol UnsentReader {
  func draft(of user: UserID, in dialog: DialogID) throws -> DialogDraft?
  func draftCount(of user: UserID) throws -> Int
  func scheduled(_ id: Int64, of user: UserID) throws -> ScheduledMessage?
  /// By the time at which they are due, then by id.
  func scheduled(of user: UserID) throws -> [ScheduledMessage]
  func scheduledCount(of user: UserID) throws -> Int
  /// Of everybody, those that have not failed and are due at `time`, the earliest first.
  func dueScheduled(at time: Timestamp, limit: Int) throws -> [ScheduledMessage]
  /// When the next one that has not failed is due; nil: there is none.
  func nextDue() throws -> Timestamp?
}

public protocol UnsentWriter: UnsentReader {
  /// nil deletes.
  func put(_ draft: DialogDraft?, of user: UserID, in dialog: DialogID) throws
  /// Inserts or replaces.
  func put(_ scheduled: ScheduledMessage) throws
  func removeScheduled(_ id: Int64, of user: UserID) throws
}
