public import Basics

/// Reads calls from a store.
public protocol CallReader {
  func call(_ id: Position) throws -> Call?
  func call(named name: String, in dialog: DialogID) throws -> Call?
  /// Returns a user's calls, of either side, that have not ended, the newest first; at most `limit`.
  func openCalls(of user: UserID, limit: Int) throws -> [Call]
  /// Returns how many calls a user has begun since then.
  func callCount(by user: UserID, since time: Timestamp) throws -> Int
  /// Returns all users' calls whose time is over at `time`, the earliest first.
  func dueCalls(at time: Timestamp, limit: Int) throws -> [Position]
  /// Returns the time when the next call is due; `nil` if there is none.
  func nextCallDue() throws -> Timestamp?
}

public protocol CallWriter: CallReader {
  /// Inserts or replaces a call.
  func put(_ call: Call) throws
}
