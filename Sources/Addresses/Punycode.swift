/// The decoder of A-labels (RFC 3492 6.2, with the parameters of RFC 3492 5).
enum Punycode {
  private static let base: UInt32 = 36
  private static let leastThreshold: UInt32 = 1
  private static let greatestThreshold: UInt32 = 26
  private static let skew: UInt32 = 38
  private static let damping: UInt32 = 700
  private static let firstBias: UInt32 = 72
  private static let firstScalar: UInt32 = 0x80

  /// Returns the characters of an A-label without its prefix "xn--"; `nil` if it is not Punycode. The label must be
  /// short (a DNS label): the work grows with the square of its length.
  static func decode(_ label: some Collection<UInt8>) -> [Unicode.Scalar]? {
    let bytes = Array(label)
    let delimiter = bytes.lastIndex(of: UInt8(ascii: "-"))
    var out = bytes[..<(delimiter ?? 0)].map { Unicode.Scalar($0) }
    guard out.allSatisfy({ $0.isASCII }) else { return nil }

    var scalar = firstScalar
    var position: UInt32 = 0
    var bias = firstBias
    var digits = bytes[(delimiter.map { $0 + 1 } ?? 0)...]
    while !digits.isEmpty {
      let start = position
      var weight: UInt32 = 1
      var step = base
      while true {
        guard let byte = digits.popFirst(), let digit = digit(byte) else { return nil }
        let (product, isOver) = digit.multipliedReportingOverflow(by: weight)
        let (sum, isPast) = position.addingReportingOverflow(product)
        guard !isOver, !isPast else { return nil }
        position = sum
        let threshold = step <= bias ? leastThreshold : min(step - bias, greatestThreshold)
        if digit < threshold { break }
        let (heavier, isTooHeavy) = weight.multipliedReportingOverflow(by: base - threshold)
        guard !isTooHeavy else { return nil }
        weight = heavier
        step += base
      }
      let count = UInt32(out.count) + 1
      bias = adapt(position - start, count, isFirst: start == 0)
      let (next, isOver) = scalar.addingReportingOverflow(position / count)
      guard !isOver, let decoded = Unicode.Scalar(next) else { return nil }
      scalar = next
      position %= count
      out.insert(decoded, at: Int(position))
      position += 1
    }
    return out
  }

  /// Adapts the bias (RFC 3492 6.1).
  private static func adapt(_ delta: UInt32, _ count: UInt32, isFirst: Bool) -> UInt32 {
    var delta = isFirst ? delta / damping : delta / 2
    delta += delta / count
    var step: UInt32 = 0
    while delta > (base - leastThreshold) * greatestThreshold / 2 {
      delta /= base - leastThreshold
      step += base
    }
    return step + (base - leastThreshold + 1) * delta / (delta + skew)
  }

  private static func digit(_ byte: UInt8) -> UInt32? {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte - UInt8(ascii: "a"))
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte - UInt8(ascii: "A"))
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0")) + 26
    default: nil
    }
  }
}
