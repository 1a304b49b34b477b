/// The codec of A-labels (RFC 3492 6.2 and 6.3, with the parameters of RFC 3492 5).
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

  /// The A-label of a label without its prefix "xn--". The label must have at most 63 scalars, so that nothing
  /// overflows.
  static func encode(_ label: [Unicode.Scalar]) -> String {
    var out = label.filter { $0.value < firstScalar }.map { UInt8(truncatingIfNeeded: $0.value) }
    let basic = out.count
    var handled = basic
    if basic > 0 { out.append(UInt8(ascii: "-")) }
    var next = firstScalar
    var delta: UInt32 = 0
    var bias = firstBias
    while handled < label.count {
      guard let least = label.map(\.value).filter({ $0 >= next }).min() else { break }
      delta &+= (least - next) &* UInt32(truncatingIfNeeded: handled + 1)
      next = least
      for scalar in label {
        if scalar.value < next { delta &+= 1 }
        guard scalar.value == next else { continue }
        var rest = delta
        var step = base
        while true {
          let threshold = step <= bias ? leastThreshold : min(step - bias, greatestThreshold)
          if rest < threshold { break }
          out.append(character(threshold + (rest - threshold) % (base - threshold)))
          rest = (rest - threshold) / (base - threshold)
          step += base
        }
        out.append(character(rest))
        bias = adapt(delta, UInt32(truncatingIfNeeded: handled + 1), isFirst: handled == basic)
        delta = 0
        handled += 1
      }
      delta &+= 1
      next &+= 1
    }
    return String(decoding: out, as: UTF8.self)
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

  /// RFC 3492 5: a to z, then 0 to 9.
  private static func character(_ digit: UInt32) -> UInt8 {
    UInt8(truncatingIfNeeded: digit < 26 ? 0x61 + digit : 0x30 + digit - 26)
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
