/// The ids of messages: the last ones are in memory, the others in the table `origins`.
///
/// Theory. All other rows of a message are appended, so that the messages of one commit share pages. A hash belongs
/// anywhere in its dialog's range: in long dialogs that is a page read and written for each message, into the write-ahead
/// log and again at the checkpoint, and was two fifths of all writes. But the table is an index of the messages
/// themselves, and its last part can be rebuilt from the end of the log. So hashes are gathered in memory, a generation at
/// a time, and a full generation is written in the table's order, slice by slice, while the next one gathers.
/// `log.origins` is the position up to which the table is complete; the messages behind it, at most two generations, are
/// read when the store is opened.
///
/// States: one generation gathers; or one gathers and the former one is being moved. The progress of the log decides when
/// a generation is full, and when a slice is due, so that even a log without ids has few entries to read. Generations
/// change only between transactions; additions, removals and moves of a transaction are undone when it fails (`undo`), and
/// final when it is committed (`settle`). For one hash the gathering generation is newer than the moving one, and that is
/// newer than the table.
struct OriginGenerations: Equatable {
  private struct Moving: Equatable {
    var rows: FreshOrigins
    let order: [Int32]
    /// The last position of the generation.
    let end: Int64
    /// The number of slices that have been written, now and at the last commit.
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
  /// The position up to which all ids are in the table or being moved.
  private var start: Int64
  /// The last position, now and at the last commit.
  private var head: Int64
  private var settledHead: Int64
  private var settledCount = 0
  private var removed: [Removed] = []

  /// Creates generations behind `start`, up to which the table is complete.
  init(start: Int64, span: Int64, slice: Int64) {
    (self.start, head, settledHead) = (start, start, start)
    (self.span, self.slice) = (span, slice)
  }

  mutating func passed(_ position: Int64) { head = max(head, position) }

  mutating func add(_ dialog: Int64, _ hash: Int32, _ position: Int64) { gathering.add(dialog, hash, position) }

  /// Calls `body` with positions, the newest first, until it returns a result.
  func first<Result>(_ dialog: Int64, _ hash: Int32, _ body: (Int64) throws -> Result?) rethrows -> Result? {
    let limit = StoreLimits.sameHashMax
    return try gathering.first(dialog, hash, limit: limit, body)
      ?? moving?.rows.first(dialog, hash, limit: limit, body)
  }

  /// Returns the first `limit` positions of a dialog behind a position, ascending. A message with two ids occurs twice.
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
    /// The position up to which the table is then complete.
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
