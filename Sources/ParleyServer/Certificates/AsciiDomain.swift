/// A domain as certificates and TLS's server name write it (RFC 5280 7.2, RFC 6066 3): labels that are not ASCII
/// as A-labels, `xn--` and Punycode (RFC 3492).
enum AsciiDomain {
  static func of(_ domain: String) -> String {
    domain.split(separator: ".", omittingEmptySubsequences: false).map { label in
      label.utf8.allSatisfy { $0 < 0x80 } ? String(label) : "xn--" + punycode(Array(label.unicodeScalars))
    }.joined(separator: ".")
  }

  /// RFC 3492 6.3. Labels have at most 63 scalars here, so that nothing overflows.
  static func punycode(_ label: [Unicode.Scalar]) -> String {
    var output = label.filter { $0.value < 0x80 }.map { UInt8(truncatingIfNeeded: $0.value) }
    let basic = output.count
    var handled = basic
    if basic > 0 { output.append(0x2d) }
    var next: UInt32 = 0x80
    var delta: UInt32 = 0
    var bias: UInt32 = 72
    while handled < label.count {
      guard let least = label.map(\.value).filter({ $0 >= next }).min() else { break }
      delta &+= (least - next) &* UInt32(truncatingIfNeeded: handled + 1)
      next = least
      for scalar in label {
        if scalar.value < next { delta &+= 1 }
        guard scalar.value == next else { continue }
        var rest = delta
        var k: UInt32 = 36
        while true {
          let threshold = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias
          if rest < threshold { break }
          output.append(digit(threshold + (rest - threshold) % (36 - threshold)))
          rest = (rest - threshold) / (36 - threshold)
          k += 36
        }
        output.append(digit(rest))
        bias = adapted(delta, UInt32(truncatingIfNeeded: handled + 1), isFirst: handled == basic)
        delta = 0
        handled += 1
      }
      delta &+= 1
      next &+= 1
    }
    return String(decoding: output, as: UTF8.self)
  }

  /// RFC 3492 6.1.
  private static func adapted(_ delta: UInt32, _ count: UInt32, isFirst: Bool) -> UInt32 {
    var delta = isFirst ? delta / 700 : delta / 2
    delta += delta / count
    var k: UInt32 = 0
    while delta > 455 {
      delta /= 35
      k += 36
    }
    return k + 36 * delta / (delta + 38)
  }

  /// RFC 3492 5: a to z, then 0 to 9.
  private static func digit(_ value: UInt32) -> UInt8 {
    UInt8(truncatingIfNeeded: value < 26 ? 0x61 + value : 0x30 + value - 26)
  }
}
