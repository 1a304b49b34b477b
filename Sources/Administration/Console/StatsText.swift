import Basics

/// Numbers of statistics as text.
package enum StatsText {
  /// Returns a table of everything that is not 0, for `parley stats`.
  package static func table(_ output: ServerStats.Output) -> String {
    var table = TextTable("METRIC", "LABELS", "VALUE")
    let numbers = StatsNumbers(output)
    for metric in output.metrics {
      for series in metric.series {
        let labels = series.labels.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
        let text: String
        if series.buckets != nil {
          guard let observed = numbers.observed(metric.name, series.labels), observed.count > 0 else { continue }
          let size = metric.name.hasSuffix("_seconds") ? duration : count
          text =
            "\(ProgressBar.grouped(observed.count)) times, mean \(size(observed.mean)), p50 \(size(observed.quantile(0.5)))"
            + ", p99 \(size(observed.quantile(0.99)))"
        } else {
          guard series.value != 0 else { continue }
          text = value(series.value, metric.name)
        }
        table.add([metric.name, labels, text])
      }
    }
    return table.text()
  }

  private static func value(_ value: Double, _ name: String) -> String {
    // A point in time, as its name says.
    if name.hasSuffix("_time_seconds"), let seconds = UInt32(exactly: value.rounded()) {
      return Timestamp(milliseconds: Int64(seconds) * 1_000).description
    }
    if name.hasSuffix("_bytes") || name.hasSuffix("_bytes_total") { return bytes(value) }
    if name.hasSuffix("_seconds") { return duration(value) }
    return count(value)
  }

  /// Returns a number, with a decimal if it is small and not whole; a dash for none.
  package static func count(_ value: Double?) -> String {
    guard let value else { return "-" }
    if value != value.rounded(), value < 100 {
      let tenths = Int((value * 10).rounded())
      return "\(tenths / 10).\(tenths % 10)"
    }
    return ProgressBar.grouped(Int(clamping: Int64(value.rounded())))
  }

  package static func bytes(_ value: Double?) -> String {
    guard let value else { return "-" }
    if value < 1_000 { return "\(Int(value)) B" }
    var (rest, unit) = (value / 1_000, 0)
    while rest >= 1_000, unit < 3 { (rest, unit) = (rest / 1_000, unit + 1) }
    return count(rest) + " " + ["kB", "MB", "GB", "TB"][unit]
  }

  package static func duration(_ value: Double?) -> String {
    guard let value else { return "-" }
    switch value {
    case 0: return "0"
    case ..<0.001: return "\(Int((value * 1e6).rounded())) us"
    case ..<1: return count(value * 1_000) + " ms"
    case ..<120: return count(value) + " s"
    default:
      let minutes = Int(value / 60)
      let (days, hours) = (minutes / 1_440, minutes / 60 % 24)
      if days > 0 { return "\(days) d \(hours) h" }
      return hours > 0 ? "\(hours) h \(minutes % 60) min" : "\(minutes) min"
    }
  }
}
