import Tracing

/// The spans of rows of the outbox that were written to another server and not taken yet, in the order of their positions.
public struct TracedRows {
  private var spans: [(position: Position, span: any Tracing.Span)] = []

  public init() {}

  /// Begins the span of a row, if its entry has one.
  public mutating func wrote(_ position: Position, to domain: String, _ traces: Traces) {
    guard let span = traces.start("federation send", .client, after: position) else { return }
    span.attributes["server.address"] = domain
    spans.append((position, span))
  }

  /// Ends the spans of the rows up to a position.
  public mutating func took(through position: Position) {
    while let first = spans.first, first.position <= position {
      first.span.end()
      spans.removeFirst()
    }
  }

  /// Ends all: the stream has ended before the other server took them.
  public mutating func lost() {
    for (_, span) in spans {
      span.setStatus(SpanStatus(code: .error, message: "stream-ended"))
      span.end()
    }
    spans = []
  }
}
