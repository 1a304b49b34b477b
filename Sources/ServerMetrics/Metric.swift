/// A metric: a name with its meaning, and numbers that are read at a scrape.
public protocol Metric: Sendable {
  var name: String { get }
  var kind: MetricKind { get }
  /// The meaning for people, one line of plain text.
  var help: String { get }
  var labels: [String] { get }
  /// Returns the numbers; nil for a metric that could not be read.
  ///
  /// - Parameter readings: the values of those metrics that are kept elsewhere.
  func samples(_ readings: Readings) -> [Sample]?
}

public enum MetricKind: String, Codable, Hashable, Sendable {
  /// A number that only grows, and begins at 0 with the process.
  case counter
  case gauge
  case histogram
}

/// The numbers of one series.
public struct Sample: Hashable, Sendable {
  public enum Value: Hashable, Sendable {
    case number(Double)
    /// The numbers of observations up to each bound (the last one is infinite), and the sum of what was observed.
    case distribution(buckets: [Bucket], sum: Double)
  }
  public struct Bucket: Hashable, Sendable {
    public let upTo: Double
    public let count: Int
  }

  public let labels: [String]
  public let value: Value
}
