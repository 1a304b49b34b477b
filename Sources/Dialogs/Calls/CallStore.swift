/// Calls in a store.
public protocol CallReader {
  func call(_ id: Position) throws -> Call?
  func call(named name: String, in dialog: DialogID) throws -> Call?
  /// Of one user, by either end, that have not ended; the newest first, at most `limit`.
  func openCalls(of user: UserID, limit: Int) throws -> [Call]
  /// How many calls a user has begun since then.
  func callCount(by user: UserID, since time: Timestamp) throws -> Int
  /// Of everybody, whose time is over at `time`, the earliest first.
  func dueCalls(at time: Timestamp, limit: Int) throws -> [Position]
  /// When the next one's is; nil: there is none.
  func nextCallDue() throws -> Timestamp?
}

public protocol CallWriter: CallReader {
  /// Inserts or replaces.
  func put(_ call: Call) throws
}
