import Synchronization

/// The distribution of a quantity: counts in a few fixed buckets, so that what is observed is forgotten at once.
///
///     let start = ContinuousClock.now
///     try write()
///     metrics.commitSeconds.observe(since: start)
public final class Histogram<S: Series>: Metric {
  public let name: String
  public let help: String
  /// The upper bounds of the buckets, in `unit`s, ascending; the last bucket has none.
  private let bounds: [Int]
  /// The number that one of the metric's unit has.
  private let unit: Int
  /// The buckets of each series, and behind them the sum.
  private let cells: Cells

  private init(_ name: String, _ help: String, bounds: [Int], unit: Int) {
    self.name = name
    self.help = help
    self.bounds = bounds
    self.unit = unit
    cells = Cells(count: S.allCases.count * (bounds.count + 2))
  }

  /// Creates a histogram of durations in seconds; `bounds` are in microseconds.
  convenience init(_ name: String, _ help: String, microseconds bounds: [Int]) {
    self.init(name, help, bounds: bounds.map { $0 * 1_000 }, unit: 1_000_000_000)
  }

  /// Creates a histogram of whole numbers.
  convenience init(_ name: String, _ help: String, counts bounds: [Int]) {
    self.init(name, help, bounds: bounds, unit: 1)
  }

  public var kind: MetricKind { .histogram }
  public var labels: [String] { S.labels }

  /// Counts a whole number, or a duration in nanoseconds.
  public func observe(_ value: Int, _ series: S) {
    let start = series.rawValue * (bounds.count + 2)
    var bucket = 0
    while bucket < bounds.count, value > bounds[bucket] { bucket += 1 }
    cells.cells[start + bucket].wrappingAdd(1, ordering: .relaxed)
    cells.cells[start + bounds.count + 1].wrappingAdd(value, ordering: .relaxed)
  }

  public func observe(_ duration: Duration, _ series: S) {
    let (seconds, attoseconds) = duration.components
    let whole = Int(clamping: seconds).multipliedReportingOverflow(by: 1_000_000_000)
    observe(whole.overflow ? .max / 2 : max(0, whole.partialValue &+ Int(attoseconds / 1_000_000_000)), series)
  }

  public func observe(since start: ContinuousClock.Instant, _ series: S) {
    observe(ContinuousClock.now - start, series)
  }

  public func samples(_ readings: Readings) -> [Sample]? {
    S.allCases.map { series in
      let start = series.rawValue * (bounds.count + 2)
      var count = 0
      let buckets = (0...bounds.count).map { index in
        count += cells[start + index]
        return Sample.Bucket(
          upTo: index < bounds.count ? Double(bounds[index]) / Double(unit) : .infinity, count: count)
      }
      let sum = Double(cells[start + bounds.count + 1]) / Double(unit)
      return Sample(labels: series.values, value: .distribution(buckets: buckets, sum: sum))
    }
  }
}

extension Histogram where S == Single {
  public func observe(_ value: Int) { observe(value, .only) }
  public func observe(since start: ContinuousClock.Instant) { observe(since: start, .only) }
  public func observe(_ duration: Duration) { observe(duration, .only) }
}
