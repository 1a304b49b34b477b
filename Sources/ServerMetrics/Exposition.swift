extension Metrics {
  /// The media type of `exposition`.
  public static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

  /// Returns everything in the text format of Prometheus (version 0.0.4).
  public func exposition(_ readings: Readings) -> String {
    var text = ""
    for metric in all {
      guard let samples = metric.samples(readings) else { continue }
      text += "# HELP \(metric.name) \(metric.help)\n# TYPE \(metric.name) \(metric.kind.rawValue)\n"
      for sample in samples {
        let labels = zip(metric.labels, sample.labels).map { "\($0)=\"\($1)\"" }
        switch sample.value {
        case .number(let number): Self.write(metric.name, labels, number, to: &text)
        case .distribution(let buckets, let sum):
          for bucket in buckets {
            let bound = bucket.upTo == .infinity ? "+Inf" : Self.text(bucket.upTo)
            Self.write(metric.name + "_bucket", labels + ["le=\"\(bound)\""], Double(bucket.count), to: &text)
          }
          Self.write(metric.name + "_sum", labels, sum, to: &text)
          Self.write(metric.name + "_count", labels, Double(buckets.last?.count ?? 0), to: &text)
        }
      }
    }
    return text
  }

  private static func write(_ name: String, _ labels: [String], _ value: Double, to text: inout String) {
    text += name
    if !labels.isEmpty { text += "{" + labels.joined(separator: ",") + "}" }
    text += " " + Self.text(value) + "\n"
  }

  /// Returns a number as the format has it: whole ones without a point.
  static func text(_ value: Double) -> String { Int(exactly: value).map { "\($0)" } ?? "\(value)" }
}
