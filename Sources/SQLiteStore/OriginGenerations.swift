/// Where the ids of messages are: of the last ones in memory, of the others in the table `origins`.
///
/// Theory. Everything else that a message writes goes to the end of something, so that the messages of one commit share pages.
/// A hash goes anywhere in its dialog's range: where dialogs are long, that is a page read and written for each message, into
/// the write-ahead log and again at the checkpoint, and was two fifths of all that was written. But what the table would say is
/// in the messages themselves: the table is an index, and its end can be made from the end of the log. So hashes gather in
/// memory, a generation at a time, and a generation that is full is written in the table's order, a slice now and then, while
/// the next one gathers. `log.origins` says up to which position the table has everything; behind it, at most two generations,
/// the messages are read when the store is opened.
///
/// States: one generation gathers; or one gathers and the one before it moves. A generation is full, and a slice is due, by how
/// far the log has come, so that a log without ids, too, is never long to read. Generations change between transactions only;
/// what a transaction has added, removed and moved is undone when it fails (`undo`), and stands when it is committed (`settle`).
/// For one hash what gathers is newer than what moves, and that is newer than the table.
struct OriginGenerations: Equatable {
  private struct Moving: Equatable {
    var rows: FreshOrigins
    let order: [Int32]
    /// The last position of the generation.
    let end: Int64
    /// Slices that have been written; and at the last commit.
    var turn: Int64 = 0
    var settledTurn: Int64 = 0
  }

  private enum Removed: Equatable {
    case gathering(Int, position: Int64)
    case moving(Int, position: Int64)
  }

  /// Positions of a generation, and of those between two slices.
  let span: Int64
  let slice: Int64
  private var gathering = FreshOrigins()
  private var moving: Moving?
  /// Everything up to here is in the table or moves.
  private var start: Int64
  /// The last position; and at the last commit.
  private var head: Int64
  private var settledHead: Int64
  private var settledCount = 0
  private var removed: [Removed] = []

  /// The table has everything up to `start`.
  init(start: Int64, span: Int64 = StoreLimits.freshSpan, slice: Int64 = StoreLimits.freshSlice) {
    (self.start, head, settledHead) = (start, start, start)
    (self.span, self.slice) = (span, slice)
  }

  mutating func passed(_ position: Int64) { head = max(head, position) }

  mutating func add(_ dialog: Int64, _ hash: Int32, _ position: Int64) { gathering.add(dialog, hash, position) }

  /// The newest first, until the body has a result.
  func first<Result>(_ dialog: Int64, _ hash: Int32, _ body: (Int64) throws -> Result?) rethrows -> Result? {
    let limit = StoreLimits.sameHashMax
    return try gathering.first(dialog, hash, limit: limit, body)
      ?? moving?.rows.first(dialog, hash, limit: limit, body)
  }

  /// What is here of a dialog, in no order.
  func positions(in dialog: Int64) -> [Int64] {
    (gathering.rows + (moving?.rows.rows ?? [])).filter { $0.dialog == dialog && $0.position > 0 }.map(\.position)
  }

  mutating func remove(_ dialog: Int64, _ hash: Int32, _ position: Int64) {
    if let index = gathering.remove(dialog, hash, position) {
      removed.append(.gathering(index, position: position))
    } else if let index = moving?.rows.remove(dialog, hash, position) {
      removed.append(.moving(index, position: position))
    }
  }

  /// What the table is to be given now.
  struct Slice: Equatable {
    var rows: [FreshOrigins.Row]
    /// With it the table has everything up to here.
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

  /// Slices of a generation.
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
