/// The bytes of a file that a request selects (RFC 9110 14.1.2, 14.2).
enum ByteRange: Equatable {
  case whole
  case part(ClosedRange<Int64>)
  /// The range is not satisfiable, which is answered with 416.
  case none

  /// Parses a `Range` field. All but a single byte range is ignored, as RFC 9110 14.2 permits: no client of files sends
  /// several ranges, which would cost more than they save.
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

  /// Parses a number of a range: nil for a syntax error, `.some(nil)` for an omitted number. A number beyond the
  /// integer range becomes the largest.
  private static func number(_ text: Substring) -> Int64?? {
    if text.isEmpty { return .some(nil) }
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return .some(Int64(text) ?? .max)
  }
}
