import CSQLite

/// Counts the looks of one search, as steps of the engine, and ends it at a bound. Theory:
///
/// The full-text engine looks for a row that has all words within one step of a statement, however many rows it passes over in which
/// they do not meet: neither a number of rows nor a range of them bounds it. But it reads the pages of its index by statements of its
/// own, whose steps the engine reports as it does those of any other, and a page has a bounded number of rows.
///
/// Used by one thread.
final class SearchMeter {
  private let looksMax: Int
  private(set) var looks = 0
  private var looksAtRow = 0

  init(_ looksMax: Int) { self.looksMax = looksMax }

  /// Notes one more look. Returns whether it is one too many.
  func look() -> Bool {
    looks += 1
    return looks > looksMax
  }

  /// Notes a row that was found: the looks for it alone do not count.
  func rowCame() {
    looks = max(looksAtRow, looks - StoreLimits.searchRowLooks)
    looksAtRow = looks
  }
}

extension Connection {
  /// Runs `body`, whose statements fail with `StoreFailure.isInterruption` behind the looks of the meter. What was read is valid.
  func metered(by meter: SearchMeter, _ body: () throws -> Void) throws {
    sqlite3_progress_handler(
      handle, StoreLimits.searchStepsPerLook,
      { $0.map { Unmanaged<SearchMeter>.fromOpaque($0).takeUnretainedValue().look() } == true ? 1 : 0 },
      Unmanaged.passUnretained(meter).toOpaque())
    defer { sqlite3_progress_handler(handle, 0, nil, nil) }
    try withExtendedLifetime(meter) { try body() }
  }
}
