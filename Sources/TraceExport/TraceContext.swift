import Basics
import Tracing

/// A span's place in its trace, as `traceparent` carries it between programs (W3C Trace Context 3.2).
///
///     let context = TraceContext(traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
struct TraceContext: Hashable, Sendable {
  /// 16 bytes, which are not all 0.
  let trace: [UInt8]
  /// 8 bytes, which are not all 0.
  let span: [UInt8]
  /// Whether the trace is recorded.
  let isSampled: Bool
  /// The entries that the systems of callers have added (`tracestate`), which are passed on as they came.
  let state: String?

  init(trace: [UInt8], span: [UInt8], isSampled: Bool, state: String? = nil) {
    self.trace = trace
    self.span = span
    self.isSampled = isSampled
    self.state = state
  }

  /// Reads the fields of a request; nil if there is no `traceparent`, or an invalid one.
  init?(traceparent text: String, state: String? = nil) {
    let parts = text.split(separator: "-", maxSplits: 4, omittingEmptySubsequences: false)
    // 4.3: a later version may have further parts, version 00 has none, and ff is invalid.
    guard parts.count >= 4, let version = Self.bytes(parts[0], 1), version[0] != 0xff,
      parts.count == 4 || version[0] != 0, let trace = Self.bytes(parts[1], 16), let span = Self.bytes(parts[2], 8),
      let flags = Self.bytes(parts[3], 1), trace.contains(where: { $0 != 0 }), span.contains(where: { $0 != 0 })
    else { return nil }
    let isPassedOn = state.map {
      !$0.isEmpty && $0.utf8.count <= TraceLimits.stateBytesMax && $0.utf8.allSatisfy { (0x20...0x7e).contains($0) }
    }
    self.init(trace: trace, span: span, isSampled: flags[0] & 1 != 0, state: isPassedOn == true ? state : nil)
  }

  var traceparent: String { "00-\(Hex.string(trace))-\(Hex.string(span))-\(isSampled ? "01" : "00")" }

  /// Returns the bytes of digits in lower case, which alone are valid (3.2.2).
  private static func bytes(_ digits: Substring, _ count: Int) -> [UInt8]? {
    let digits = Array(digits.utf8)
    guard digits.count == 2 * count else { return nil }
    var bytes: [UInt8] = []
    for index in 0..<count {
      let pair = digits[2 * index...2 * index + 1]
      guard pair.allSatisfy({ $0 < UInt8(ascii: "A") || $0 > UInt8(ascii: "F") }),
        let high = Hex.value(ofDigit: digits[2 * index]), let low = Hex.value(ofDigit: digits[2 * index + 1])
      else { return nil }
      bytes.append(high << 4 | low)
    }
    return bytes
  }
}

/// The key of the trace context in a `ServiceContext`.
private enum TraceContextKey: ServiceContextKey {
  typealias Value = TraceContext
  static var nameOverride: String? { "traceparent" }
}

extension ServiceContext {
  var trace: TraceContext? {
    get { self[TraceContextKey.self] }
    set { self[TraceContextKey.self] = newValue }
  }
}
