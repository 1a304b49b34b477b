package import Dialogs
import ServerMetrics

/// Reports everything that the running server measures; `parley stats` and `parley top` show it.
package enum ServerStats: AdminOperation {
  package static let name = "server.stats"
  package static let scope: AppKey.Scope? = .server
  package static let isReading = true
  package static let needsServer = true

  package typealias Input = Empty

  package struct Output: Codable, Hashable, Sendable {
    /// The metrics in the order of `Metrics`; one that could not be read is missing.
    package var metrics: [Metric]

    package init(metrics: [Metric]) { self.metrics = metrics }
  }

  package struct Metric: Codable, Hashable, Sendable {
    package let name: String
    /// `counter`, `gauge` or `histogram`.
    package let kind: String
    package let help: String
    package let series: [Series]
  }

  package struct Series: Codable, Hashable, Sendable {
    package let labels: [String: String]
    /// The number; of a histogram the sum of all that was observed.
    package let value: Double
    /// For a histogram: how many observations were at most so large, ascending.
    package let buckets: [Bucket]?

    package init(labels: [String: String], value: Double, buckets: [Bucket]? = nil) {
      self.labels = labels
      self.value = value
      self.buckets = buckets
    }
  }

  package struct Bucket: Codable, Hashable, Sendable {
    /// nil for all observations.
    package let upTo: Double?
    package let count: Int

    package init(upTo: Double?, count: Int) {
      self.upTo = upTo
      self.count = count
    }
  }

  package static func perform(_ input: Empty, in context: AdminContext) async throws(Problem) -> Output {
    guard let readings = await context.readings?() else {
      throw Problem(.unsupported, "server-not-running", "No server is running: there is nothing to measure.")
    }
    return Output(
      metrics: context.parley.metrics.all.compactMap { metric in
        metric.samples(readings).map { samples in
          Metric(
            name: metric.name, kind: metric.kind.rawValue, help: metric.help,
            series: samples.map { Series($0, metric.labels) })
        }
      })
  }
}

extension ServerStats.Series {
  fileprivate init(_ sample: Sample, _ labels: [String]) {
    let named = Dictionary(zip(labels, sample.labels), uniquingKeysWith: { first, _ in first })
    switch sample.value {
    case .number(let number): self.init(labels: named, value: number)
    case .distribution(let buckets, let sum):
      self.init(
        labels: named, value: sum,
        buckets: buckets.map { .init(upTo: $0.upTo == .infinity ? nil : $0.upTo, count: $0.count) })
    }
  }
}
