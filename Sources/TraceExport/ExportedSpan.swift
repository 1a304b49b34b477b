import Synchronization
public import Tracing

/// A span, which goes to the exporter when it ends.
public final class ExportedSpan: Tracing.Span {
  /// Everything that is told of a span.
  struct Record: Sendable {
    var name: String
    let kind: SpanKind
    let context: TraceContext
    /// The 8 bytes of the parent's id; empty for the first span of a trace.
    let parent: [UInt8]
    let start: UInt64
    var end: UInt64 = 0
    var attributes: SpanAttributes = [:]
    var events: [SpanEvent] = []
    var links: [SpanLink] = []
    var status: SpanStatus?
  }

  public let context: ServiceContext
  public let isRecording: Bool
  private let state: Mutex<Record>
  private let finish: @Sendable (Record) -> Void

  /// - Parameter finish: Called once, with what became of the span, if its trace is recorded.
  init(_ record: Record, in context: ServiceContext, finish: @escaping @Sendable (Record) -> Void) {
    self.context = context
    isRecording = record.context.isSampled
    state = Mutex(record)
    self.finish = finish
  }

  public var operationName: String {
    get { state.withLock { $0.name } }
    set { state.withLock { $0.name = newValue } }
  }

  public var attributes: SpanAttributes {
    get { state.withLock { $0.attributes } }
    set { state.withLock { $0.attributes = newValue } }
  }

  public func setStatus(_ status: SpanStatus) { state.withLock { $0.status = status } }

  public func addEvent(_ event: SpanEvent) {
    state.withLock { if $0.events.count < TraceLimits.eventsMax { $0.events.append(event) } }
  }

  public func addLink(_ link: SpanLink) {
    state.withLock { if $0.links.count < TraceLimits.linksMax { $0.links.append(link) } }
  }

  /// Adds the event that an error is by the conventions of OpenTelemetry. An error's own text may have anything in it, so
  /// its type is told.
  public func recordError<Instant: TracerInstant>(
    _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
  ) {
    var attributes = attributes
    attributes["exception.type"] = "\(type(of: error))"
    addEvent(SpanEvent(name: "exception", at: instant(), attributes: attributes))
  }

  public func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
    guard isRecording else { return }
    let time = instant().nanosecondsSinceEpoch
    let finished: Record? = state.withLock { record in
      guard record.end == 0 else { return nil }
      // A clock that was set back gives no negative duration.
      record.end = max(time, record.start)
      return record
    }
    if let finished { finish(finished) }
  }
}
