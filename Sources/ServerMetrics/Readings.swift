/// A metric that something else keeps: it has no number of its own, and is read when somebody asks.
public final class Reading<S: Series>: Metric {
  public let name: String
  public let kind: MetricKind
  public let help: String

  init(_ name: String, _ help: String, kind: MetricKind = .gauge) {
    self.name = name
    self.kind = kind
    self.help = help
  }

  public var labels: [String] { S.labels }

  public func samples(_ readings: Readings) -> [Sample]? {
    readings.values[name].map { values in
      S.allCases.map { Sample(labels: $0.values, value: .number(values[$0.rawValue])) }
    }
  }
}

/// The values of all `Reading`s at one moment. What was not set could not be read, and is left out.
///
///     var readings = Readings()
///     readings.set(metrics.inboxPosts, inbox.count)
public struct Readings: Sendable {
  /// The values of each metric, one for each of its series.
  fileprivate(set) var values: [String: [Double]] = [:]

  public init() {}

  /// Sets one series; the metric's others are 0 unless they are set, too.
  public mutating func set<S: Series>(_ metric: Reading<S>, _ series: S, _ value: Double) {
    values[metric.name, default: Array(repeating: 0, count: S.allCases.count)][series.rawValue] = value
  }

  public mutating func set<S: Series>(_ metric: Reading<S>, _ counts: [S: Int]) {
    for series in S.allCases { set(metric, series, Double(counts[series] ?? 0)) }
  }

  public mutating func set(_ metric: Reading<Single>, _ value: Double) { set(metric, .only, value) }
  public mutating func set(_ metric: Reading<Single>, _ value: some BinaryInteger) { set(metric, .only, Double(value)) }

  public mutating func merge(_ others: Readings) { values.merge(others.values) { _, new in new } }
}
