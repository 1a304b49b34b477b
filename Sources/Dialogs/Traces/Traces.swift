import Synchronization
public import Tracing

/// The spans of a server's requests and stanzas (`tracing.*`). Theory:
///
/// A door begins a span for what a client or a backend sends, and the task or the event loop carries its context
/// (`ServiceContext.current`). A post that is submitted within one carries it on to the committer's thread (`PostTrace`).
/// What follows the log later, such as a webhook, finds the context by the position of its entry, for as long as that is
/// recent. Without a span around it nothing here begins one: timers and imports are not traced.
///
/// A server that does not trace has none of this: each place asks once for an optional that is `nil`.
public final class Traces: Sendable {
  public let tracer: any Tracer
  private let recent = Mutex(RecentTraces())

  public init(_ tracer: any Tracer) { self.tracer = tracer }

  /// Begins a span.
  public func start(_ name: String, _ kind: SpanKind, in context: ServiceContext) -> any Tracing.Span {
    tracer.startSpan(name, context: context, ofKind: kind)
  }

  /// Handles something that a client or another server has sent within the first span of a new trace.
  ///
  /// - Parameter stanza: The id of a stanza, by which a user's error leads to the span.
  public func receiving(_ name: String, stanza: String? = nil, _ body: () -> Void) {
    // The turn may be that of an answer to what was sent before.
    let span = start(name, .server, in: .topLevel)
    defer { span.end() }
    if let stanza { span.attributes["xmpp.stanza.id"] = String(stanza.prefix(64)) }
    ServiceContext.$current.withValue(span.context, operation: body)
  }

  /// Sends what became of the entry at a position within a new span of the entry's trace; without one if that is not known
  /// any more.
  public func sending<Result: Sendable>(
    _ name: @autoclosure () -> String, after position: Position, _ body: () async -> Result
  ) async -> Result {
    guard let span = start(name(), .producer, after: position) else { return await body() }
    defer { span.end() }
    return await ServiceContext.$current.withValue(span.context, operation: body)
  }

  /// Begins a span of the trace of the entry at a position; `nil` if that is not known any more.
  func start(_ name: @autoclosure () -> String, _ kind: SpanKind, after position: Position) -> (any Tracing.Span)? {
    recent.withLock { $0[position] }.map { start(name(), kind, in: $0) }
  }

  /// Returns the post with a span of its own, if it is submitted within one that is recorded.
  func begin(_ post: Post) -> Post {
    guard let context = ServiceContext.current else { return post }
    if case .imported = post.intent { return post }
    let span = start("post \(post.intent.name)", .internal, in: context)
    return span.isRecording ? Post(post, trace: PostTrace(span, of: self)) : post
  }

  /// Notes that an entry was written within a span.
  fileprivate func note(_ position: Position, _ context: ServiceContext) {
    recent.withLock { $0.add(position, context) }
  }
}

/// The contexts of the last entries that were written within a span, in a ring: what follows the log is rarely further
/// behind, and then goes without.
private struct RecentTraces {
  private var contexts: [Position: ServiceContext] = [:]
  private var order: [Position] = []
  private var next = 0

  subscript(_ position: Position) -> ServiceContext? { contexts[position] }

  mutating func add(_ position: Position, _ context: ServiceContext) {
    if order.count < Limits.recentTracesMax {
      order.append(position)
    } else {
      contexts[order[next]] = nil
      order[next] = position
      next = (next + 1) % order.count
    }
    contexts[position] = context
  }
}

/// The span of a post, from its submission until its effects are sent.
final class PostTrace: Sendable {
  private let span: any Tracing.Span
  private let traces: Traces

  init(_ span: any Tracing.Span, of traces: Traces) {
    self.span = span
    self.traces = traces
  }

  /// Adds a part that is over.
  fileprivate func add(_ name: String, from start: DefaultTracerClock.Timestamp, to end: DefaultTracerClock.Timestamp) {
    traces.tracer.startSpan(name, context: span.context, ofKind: .internal, at: start).end(at: end)
  }

  fileprivate func settled(_ result: Result<Receipt, Problem>) {
    switch result {
    case .success(let receipt):
      if let entry = receipt.entry, !receipt.isRepeat { traces.note(entry.position, span.context) }
    case .failure(let problem): fail(problem)
    }
  }

  fileprivate func fail(_ problem: Problem) {
    span.setStatus(SpanStatus(code: .error, message: problem.code))
  }

  fileprivate func end() { span.end() }

  /// Ends the span of a post that was not committed.
  func end(with problem: Problem) {
    fail(problem)
    end()
  }
}

/// The times of one batch of the committer: of its beginning, of its sync, and of the sending of its effects.
struct BatchTrace {
  private let posts: [PostTrace]
  private let began: DefaultTracerClock.Timestamp
  private var durable: DefaultTracerClock.Timestamp

  /// Returns the time at which a batch begins; `nil` if the server does not trace.
  static func beginning(_ traces: Traces?) -> DefaultTracerClock.Timestamp? {
    traces == nil ? nil : DefaultTracerClock.now
  }

  /// Begins once a batch is durable, before its effects are sent; `nil` if none of its posts is traced.
  ///
  /// - Parameter waiting: the posts that were left to a later batch.
  init?(
    _ batch: ArraySlice<Post>, without waiting: ArraySlice<Post>, began: DefaultTracerClock.Timestamp?,
    _ effects: [Effect]
  ) {
    guard let began else { return nil }
    // The span of a post that is done in pieces ends with the last.
    let begun = effects.compactMap { effect -> PostTrace? in
      if case .rest(let post) = effect { post.trace } else { nil }
    }
    let left = begun + waiting.compactMap(\.trace)
    posts = batch.compactMap(\.trace).filter { trace in !left.contains { $0 === trace } }
    if posts.isEmpty { return nil }
    self.began = began
    durable = DefaultTracerClock.now
    for case .settled(let post, let result) in effects { post.trace?.settled(result) }
  }

  /// Ends the spans of the posts.
  func told() {
    let now = DefaultTracerClock.now
    for post in posts {
      post.add("commit", from: began, to: durable)
      post.add("deliver", from: durable, to: now)
      post.end()
    }
  }
}

extension Intent {
  /// The name of its case.
  fileprivate var name: String { Mirror(reflecting: self).children.first?.label ?? "\(self)" }
}
