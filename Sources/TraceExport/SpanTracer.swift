public import Tracing

/// The tracer of a server: it makes spans, decides which traces are recorded, and reads and writes the header fields of W3C
/// Trace Context.
///
/// The first span of a trace decides: by its caller, or by the share of traces that the operator wants.
public struct SpanTracer: Tracer {
  private let ratio: Double
  private let finish: @Sendable (ExportedSpan.Record) -> Void

  /// - Parameter ratio: The share of the traces that are recorded, from 0 to 1.
  init(ratio: Double, finish: @escaping @Sendable (ExportedSpan.Record) -> Void) {
    self.ratio = ratio
    self.finish = finish
  }

  public func startSpan<Instant: TracerInstant>(
    _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
    at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
  ) -> ExportedSpan {
    var context = context()
    let parent = context.trace
    var random = SystemRandomNumberGenerator()
    func bytes(_ count: Int) -> [UInt8] {
      // An id of nothing but 0 is invalid.
      var bytes = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
      if bytes.allSatisfy({ $0 == 0 }) { bytes[0] = 1 }
      return bytes
    }
    let own = TraceContext(
      trace: parent?.trace ?? bytes(16), span: bytes(8),
      isSampled: parent?.isSampled ?? (Double.random(in: 0..<1, using: &random) < ratio), state: parent?.state)
    context.trace = own
    return ExportedSpan(
      .init(
        name: operationName, kind: kind, context: own, parent: parent?.span ?? [],
        start: instant().nanosecondsSinceEpoch),
      in: context, finish: finish)
  }

  public func forceFlush() {}

  public func extract<Carrier, Extract: Extractor>(
    _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
  ) where Extract.Carrier == Carrier {
    guard let text = extractor.extract(key: "traceparent", from: carrier) else { return }
    context.trace = TraceContext(traceparent: text, state: extractor.extract(key: "tracestate", from: carrier))
  }

  public func inject<Carrier, Inject: Injector>(
    _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
  ) where Inject.Carrier == Carrier {
    guard let trace = context.trace else { return }
    injector.inject(trace.traceparent, forKey: "traceparent", into: &carrier)
    if let state = trace.state { injector.inject(state, forKey: "tracestate", into: &carrier) }
  }
}
