// The end of an account. Theory:
//
//   active -begun-> disabled, with a task -left rooms, rosters and calls-> deleted, with a task -erased piece by piece-> deleted
//
// The first post ends all logins and writes the task (`AccountTask`). From then on nobody logs in, and the name is taken for ever. The post
// that deletes the user removes what is little: credentials, logins, the profile. Everything else may be millions of rows, so it is removed
// by posts of the server's own (`Intent.erase`), between those of others. The last of them removes the task, and until then a start
// continues with it. A deleted user is no one's addressee, whatever is left of them.

/// The place at which the removal of a deleted user's data continues: which of the store's steps is next, and the last row that this step
/// has looked at. It is not stored: after a restart the removal begins again, and finds what is left.
public struct ErasurePlace: Hashable, Sendable {
  public let step: Int
  /// The key of the row; the least number before the first row.
  public var first = Int64.min
  public var second = Int64.min

  public init(step: Int = 0) { self.step = step }
}

/// A store's report of the piece that it has removed.
public struct ErasedPiece: Sendable {
  /// The place at which the next piece continues; `nil` if nothing is left.
  public var next: ErasurePlace?
  /// Whether affiliations with nodes or subscriptions to them were removed.
  public var changesNodes = false
  /// The number of the user's rows of the outbox that were removed, by their pair. A pair without rows is gone, unless a certificate of
  /// its domain is remembered.
  public var outboxRows: [Int64: Int] = [:]
  /// The rooms whose rows of the user were changed.
  public var rooms: [DialogID] = []

  public init() {}
}

/// The outcome of a piece, which is the value of the receipt.
public enum Erasure: Sendable {
  case next(ErasurePlace)
  case done
  /// Nothing was removed: there is a hold on the user, and the task waits for its end.
  case held
}

extension Judge {
  /// Removes a piece of a deleted user's data, and the task with the last one. Throws if the task is no deletion that has come so far.
  mutating func erase(_ post: Post, _ id: Int64, at place: ErasurePlace) throws {
    guard let task = try writer.accountTask(id), task.state == .pending, task.kind != .export,
      try writer.user(task.user)?.state == .deleted
    else { throw Problem(.missing, "task-unknown", "There is no such deletion.") }
    var receipt = Receipt(position: head)
    if try writer.isHeld(task.user) {
      receipt.value = Erasure.held
      return settle(post, receipt)
    }
    // The store must find the marks as the posts before have left them, or it would remove them before they are written.
    try rooms.finish(writer)
    let piece = try writer.eraseData(
      of: task.user, endingFiles: task.kind == .erasure, at: place, limit: Limits.erasedRowsAtOnce)
    if piece.changesNodes { nodePeople.forget() }
    if !piece.outboxRows.isEmpty { forget(piece.outboxRows, of: task.user) }
    for room in piece.rooms { rooms.forget(task.user, in: room) }
    if let next = piece.next {
      receipt.value = Erasure.next(next)
    } else {
      try writer.removeAccountTask(id)
      receipt.value = Erasure.done
    }
    settle(post, receipt)
  }
}
