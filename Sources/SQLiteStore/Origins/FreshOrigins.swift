/// The ids of the last messages, as hashes, in memory, to recognise repeats without reading the database.
///
/// Theory. Rows are in the order of the log. Each refers to the former row of its bucket, and the bucket to its last one:
/// a search runs from the newest to the oldest, a row costs 24 bytes and no separate allocation, and rows of a failed
/// transaction are removed from the end.
struct FreshOrigins: Equatable {
  struct Row: Equatable {
    let dialog: Int64
    /// The position; 0 if its message was removed.
    fileprivate(set) var position: Int64
    let hash: Int32
    /// The former row of its bucket; -1 if there is none.
    fileprivate let former: Int32
  }

  private(set) var rows: [Row] = []
  private var last: [Int32] = []

  var count: Int { rows.count }

  mutating func add(_ dialog: Int64, _ hash: Int32, _ position: Int64) {
    if last.isEmpty { last = Array(repeating: -1, count: StoreLimits.freshBuckets) }
    let bucket = Self.bucket(dialog, hash)
    rows.append(Row(dialog: dialog, position: position, hash: hash, former: last[bucket]))
    last[bucket] = Int32(rows.count - 1)
  }

  /// Calls `body` with at most `limit` positions of this hash, the newest first, until it returns a result.
  func first<Result>(_ dialog: Int64, _ hash: Int32, limit: Int, _ body: (Int64) throws -> Result?) rethrows -> Result?
  {
    guard !last.isEmpty else { return nil }
    var next = last[Self.bucket(dialog, hash)]
    var left = limit
    while next >= 0, left > 0 {
      let row = rows[Int(next)]
      if row.hash == hash, row.dialog == dialog, row.position > 0 {
        if let result = try body(row.position) { return result }
        left -= 1
      }
      next = row.former
    }
    return nil
  }

  /// Removes the message at this position. Returns its row.
  mutating func remove(_ dialog: Int64, _ hash: Int32, _ position: Int64) -> Int? {
    guard !last.isEmpty else { return nil }
    var next = last[Self.bucket(dialog, hash)]
    while next >= 0 {
      let row = rows[Int(next)]
      if row.position == position, row.hash == hash, row.dialog == dialog {
        rows[Int(next)].position = 0
        return Int(next)
      }
      next = row.former
    }
    return nil
  }

  /// Undoes `remove`.
  mutating func restore(_ index: Int, position: Int64) { rows[index].position = position }

  /// Keeps only the first `count` rows.
  mutating func cut(to count: Int) {
    while rows.count > count, let row = rows.popLast() { last[Self.bucket(row.dialog, row.hash)] = row.former }
  }

  /// Returns the rows in the order of the table to which they are moved.
  func sorted() -> [Int32] {
    rows.indices.sorted { a, b in
      (rows[a].dialog, rows[a].hash, rows[a].position) < (rows[b].dialog, rows[b].hash, rows[b].position)
    }.map { Int32($0) }
  }

  /// Returns the bucket. The dialog counts as well, since an id that a user sends in many dialogs has the same (salted) hash in
  /// all of them.
  private static func bucket(_ dialog: Int64, _ hash: Int32) -> Int {
    Int(truncatingIfNeeded: (dialog &* 0x9E37_79B9) &+ Int64(hash)) & (StoreLimits.freshBuckets - 1)
  }
}
