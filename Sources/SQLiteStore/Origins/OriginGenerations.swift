/// The ids of messages: the last ones are in memory, the others in the table `origins`.
///
/// Theory. Everything else that a message writes goes to the end of something, so that the messages of one commit share
/// pages. A hash goes anywhere in its dialog's range: where dialogs are long, that is a page read and written for each
/// message, into the write-ahead log and again at the checkpoint, and was two fifths of all that was written. But the
/// table is an index of the messages themselves, and its end can be made from the end of the log. So hashes gather in
/// memory, a generation at a time, and a full generation is written in the table's order, a slice now and then, while
/// the next one gathers. `log.origins` says up to which position the table has everything; the messages behind it, at
/// most two generations, are read when the store is opened.
///
/// States: one generation gathers; or one gathers and the one before it moves. The progress of the log decides when a
/// generation is full, and when a slice is due, so that a log without ids, too, is never long to read. Generations
/// change between transactions only; additions, removals and moves of a transaction are undone when it fails (`undo`),
/// and stand when it is committed (`settle`). For one hash the gathering generation is newer than the moving one, and
/// that is newer than the table.
struct OriginGenerations: Equatable {
  private struct Moving: Equatable {
    var rows: FreshOrigins
    let order: [Int32]
    /// The last position of the generation.
    let end: Int64
    /// The number of slices that have been written; and at the last commit.
    var turn: Int64 = 0
    var settledTurn: Int64 = 0
  }

  private enum Removed: Equatable {
    case gathering(Int, position: Int64)
    case moving(Int, position: Int64)
  }

  /// The number of positions of a generation, and of those between two slices.
  let span: Int64
  let slice: Int64
  private var gathering = FreshOrigins()
  private var moving: Moving?
  /// The position up to which everything is in the table or moves.
  private var start: Int64
  /// The last position; and at the last commit.
  private var head: Int64
  private var settledHead: Int64
  private var settledCount = 0
  private var removed: [Removed] = []

  /// Creates generations behind `start`, up to which the table has everything.
  init(start: Int64, span: Int64, slice: Int64) {
    (self.start, head, settledHead) = (start, start, start)
    (self.span, self.slice) = (span, slice)
  }

  mutating func passed(_ position: Int64) { head = max(head, position) }

  mutating func add(_ dialog: Int64, _ hash: Int32, _ position: Int64) { gathering.add(dialog, hash, position) }

  /// Calls `body` with positions, the newest first, until it has a result.
  func first<Result>(_ dialog: Int64, _ hash: Int32, _ body: (Int64) throws -> Result?) rethrows -> Result? {
    let limit = StoreLimits.sameHashMax
    return try gathering.first(dialog, hash, limit: limit, body)
      ?? moving?.rows.first(dialog, hash, limit: limit, body)
  }

  /// Returns the first `limit` positions of a dialog behind one, in their order. A message with two ids is there twice.
  func positions(in dialog: Int64, behind position: Int64, limit: Int) -> [Int64] {
    let behind = max(0, position)
    var found: [Int64] = []
    for rows in [moving?.rows.rows ?? [], gathering.rows] {
      for row in rows where row.position > behind && row.dialog == dialog {
        found.append(row.position)
        if found.count == limit { return found }
      }
    }
    return found
  }

  mutating func remove(_ dialog: Int64, _ hash: Int32, _ position: Int64) {
    if let index = gathering.remove(dialog, hash, position) {
      removed.append(.gathering(index, position: position))
    } else if let index = moving?.rows.remove(dialog, hash, position) {
      removed.append(.moving(index, position: position))
    }
  }

  /// The rows to write to the table now.
  struct Slice: Equatable {
    var rows: [FreshOrigins.Row]
    /// The position up to which the table then has everything.
    var end: Int64?
  }

  mutating func next() -> Slice? {
    guard let turn = moving?.turn, let end = moving?.end, turn < turns, head - end >= (turn + 1) * slice else {
      return nil
    }
    let next = min(turns, (head - end) / slice)
    moving?.turn = next
    guard let moving else { return nil }
    let rows = moving.order[share(turn, of: moving)..<share(next, of: moving)]
    return Slice(
      rows: rows.map { moving.rows.rows[Int($0)] }.filter { $0.position > 0 }, end: next == turns ? end : nil)
  }

  /// The slices of a generation.
  private var turns: Int64 { max(1, span / slice) }

  private func share(_ turn: Int64, of moving: Moving) -> Int { moving.order.count * Int(turn) / Int(turns) }

  mutating func settle() {
    removed.removeAll(keepingCapacity: true)
    settledHead = head
    if let turn = moving?.turn {
      if turn == turns { moving = nil } else { moving?.settledTurn = turn }
    }
    if moving == nil, head - start >= span {
      moving = Moving(rows: gathering, order: gathering.sorted(), end: head)
      gathering = FreshOrigins()
      start = head
    }
    settledCount = gathering.count
  }

  mutating func undo() {
    for item in removed.reversed() {
      switch item {
      case .gathering(let index, let position): gathering.restore(index, position: position)
      case .moving(let index, let position): moving?.rows.restore(index, position: position)
      }
    }
    removed.removeAll(keepingCapacity: true)
    gathering.cut(to: settledCount)
    head = settledHead
    if let turn = moving?.settledTurn { moving?.turn = turn }
  }
}
