import CSQLite

/// Counts the looks of one search, measured in steps of the engine, and ends it at a bound. Theory:
///
/// The full-text engine finds a row with all words within one step of a statement, however many rows without all of them it skips:
/// neither a number nor a range of rows bounds it. But it reads the pages of its index by separate statements, whose steps the engine
/// reports like those of any other, and a page has a bounded number of rows.
///
/// Used by one thread.
final class SearchMeter {
  private let looksMax: Int
  private(set) var looks = 0
  private var looksAtRow = 0

  init(_ looksMax: Int) { self.looksMax = looksMax }

  /// Counts one more look. Returns whether the bound is exceeded.
  func look() -> Bool {
    looks += 1
    return looks > looksMax
  }

  /// Notes a row that was found, whose own looks do not count.
  func rowCame() {
    looks = max(looksAtRow, looks - StoreLimits.searchRowLooks)
    looksAtRow = looks
  }
}

extension Connection {
  /// Runs `body`, whose statements fail with `StoreFailure.isInterruption` once the meter's looks are used up. Rows that were read
  /// before are valid.
  func metered(by meter: SearchMeter, _ body: () throws -> Void) throws {
    sqlite3_progress_handler(
      handle, StoreLimits.searchStepsPerLook,
      { $0.map { Unmanaged<SearchMeter>.fromOpaque($0).takeUnretainedValue().look() } == true ? 1 : 0 },
      Unmanaged.passUnretained(meter).toOpaque())
    defer { sqlite3_progress_handler(handle, 0, nil, nil) }
    try withExtendedLifetime(meter) { try body() }
  }
}
