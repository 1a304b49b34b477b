/// Which bytes of a file a reader wants (RFC 9110 14.1.2, 14.2).
enum ByteRange: Equatable {
  case whole
  case part(ClosedRange<Int64>)
  /// Answered with 416.
  case none

  /// What is no single range of bytes is ignored, as RFC 9110 14.2 allows: also several, which no client of files asks
  /// for and which would cost more than they spare.
  init(_ field: String?, size: Int64) {
    self = .whole
    guard let field, let equals = field.firstIndex(of: "="),
      field[..<equals].lowercased().filter({ $0 != " " }) == "bytes"
    else { return }
    let set = field[field.index(after: equals)...].filter { $0 != " " && $0 != "\t" }
    let ends = set.split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]) else { return }
    switch (first, last) {
    case (nil, nil): return
    case (nil, let count?): self = count == 0 || size == 0 ? .none : .part(max(0, size - count)...size - 1)
    case (let from?, let to):
      if let to, to < from { return }
      self = from < size ? .part(from...min(to ?? size - 1, size - 1)) : .none
    }
  }

  /// nil: no number. `.some(nil)`: nothing is written. Larger numbers than there are count as the largest.
  private static func number(_ text: Substring) -> Int64?? {
    if text.isEmpty { return .some(nil) }
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return .some(Int64(text) ?? .max)
  }
}

/// Dates of HTTP (RFC 9110 5.6.7), in the one form that is written; a condition that is written otherwise is ignored.
enum HTTPDate {
  private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  static func text(seconds: Int64) -> String {
    // Days from 1970-01-01, a Thursday; the calendar by eras of 400 years that begin in March.
    let day = seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
    let clock = seconds - day * 86_400
    let shifted = day + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    let date = dayOfYear - (153 * marchMonth + 2) / 5 + 1
    let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    let weekday = days[Int(((day + 4) % 7 + 7) % 7)]
    return "\(weekday), \(two(date)) \(months[Int(month - 1)]) \(year) "
      + "\(two(clock / 3_600)):\(two(clock / 60 % 60)):\(two(clock % 60)) GMT"
  }

  private static func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
