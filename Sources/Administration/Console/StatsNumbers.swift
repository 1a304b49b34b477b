/// The numbers of two moments, and what happened between them.
package struct StatsNumbers: Sendable {
  private let now: [String: ServerStats.Metric]
  private let before: [String: ServerStats.Metric]
  /// The seconds between both; nil if there is only one.
  private let seconds: Double?

  /// Creates the numbers of one moment; rates are then those since the server's start, which are unknown.
  package init(_ now: ServerStats.Output, after before: ServerStats.Output? = nil, seconds: Double? = nil) {
    func byName(_ output: ServerStats.Output?) -> [String: ServerStats.Metric] {
      Dictionary((output?.metrics ?? []).map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }
    self.now = byName(now)
    self.before = byName(before)
    self.seconds = before == nil ? nil : seconds
  }

  /// Returns the sum of the series with these labels; nil if the metric could not be read.
  package func value(_ name: String, _ labels: [String: String] = [:]) -> Double? { Self.sum(now[name], labels) }

  /// Returns the growth per second of the series with these labels; nil without an earlier moment.
  package func rate(_ name: String, _ labels: [String: String] = [:]) -> Double? {
    guard let seconds, seconds > 0, let now = Self.sum(now[name], labels), let before = Self.sum(before[name], labels)
    else { return nil }
    return max(0, now - before) / seconds
  }

  /// Returns the values of a metric by one of its labels, the largest first, without those that are 0.
  package func rates(_ name: String, by label: String) -> [(label: String, rate: Double)] {
    let labels = Set((now[name]?.series ?? []).compactMap { $0.labels[label] })
    return labels.compactMap { value in rate(name, [label: value]).map { (value, $0) } }
      .filter { $0.1 > 0 }.sorted { ($1.1, $0.0) < ($0.1, $1.0) }
  }

  private static func sum(_ metric: ServerStats.Metric?, _ labels: [String: String]) -> Double? {
    metric.map { metric in metric.series.filter { $0.has(labels) }.reduce(0) { $0 + $1.value } }
  }

  /// The observations of a histogram between the two moments; since the server's start if there is only one.
  package struct Observed: Hashable, Sendable {
    package let count: Int
    package let mean: Double
    private let buckets: [ServerStats.Bucket]

    init(count: Int, sum: Double, buckets: [ServerStats.Bucket]) {
      self.count = count
      mean = count > 0 ? sum / Double(count) : 0
      self.buckets = buckets
    }

    /// Returns the size that so large a share of the observations does not exceed, estimated within its bucket as
    /// Prometheus does; nil if nothing was observed. What is larger than all bounds counts as the largest of them.
    package func quantile(_ share: Double) -> Double? {
      guard count > 0 else { return nil }
      let rank = share * Double(count)
      var (lower, below) = (0.0, 0)
      for bucket in buckets {
        guard let upper = bucket.upTo else { return lower }
        if Double(bucket.count) >= rank {
          let inside = bucket.count - below
          return inside > 0 ? lower + (upper - lower) * (rank - Double(below)) / Double(inside) : upper
        }
        (lower, below) = (upper, bucket.count)
      }
      return lower
    }
  }

  package func observed(_ name: String, _ labels: [String: String] = [:]) -> Observed? {
    guard let now = now[name]?.series.first(where: { $0.has(labels) }), let buckets = now.buckets else { return nil }
    let earlier = before[name]?.series.first { $0.has(labels) }
    let counts = buckets.enumerated().map { index, bucket in
      ServerStats.Bucket(
        upTo: bucket.upTo, count: max(0, bucket.count - (earlier?.buckets?[safe: index]?.count ?? 0)))
    }
    return Observed(count: counts.last?.count ?? 0, sum: now.value - (earlier?.value ?? 0), buckets: counts)
  }
}

extension ServerStats.Series {
  /// Whether it has these values of labels, among others.
  fileprivate func has(_ labels: [String: String]) -> Bool { labels.allSatisfy { self.labels[$0.key] == $0.value } }
}

extension Array {
  fileprivate subscript(safe index: Int) -> Element? { indices.contains(index) ? self[index] : nil }
}
