import Basics
public import Logging
public import ServerMetrics
import Synchronization
public import WebClient

/// Sends spans to a collector (OTLP/HTTP). Theory:
///
/// A span that ends goes into a bounded queue, which takes an append under a lock; nobody waits for the collector. Once a second
/// what is there is sent in batches, one after another. One that the collector does not take for the moment is sent again a
/// few times, while the queue fills; what does not fit is dropped. All three outcomes are counted
/// (`parley_trace_spans_total`).
public final class TraceExporter: Sendable {
  public struct Options: Hashable, Sendable {
    /// The URL that batches are posted to.
    public var url: String
    /// The share of the traces that are recorded, from 0 to 1.
    public var ratio: Double
    /// `service.name` of the resource.
    public var service: String
    public var version: String

    public init(url: String, ratio: Double, service: String, version: String) {
      self.url = url
      self.ratio = ratio
      self.service = service
      self.version = version
    }
  }

  private let options: Options
  private let metrics: Metrics
  private let logger: Logger
  private let queue = Mutex<[ExportedSpan.Record]>([])
  /// Whether the last batch was lost: the log tells of the first one in a row.
  private let isFailing = Mutex(false)

  public init(_ options: Options, metrics: Metrics, logger: Logger) {
    self.options = options
    self.metrics = metrics
    self.logger = logger
  }

  /// The tracer whose spans are exported.
  public var tracer: SpanTracer { SpanTracer(ratio: options.ratio) { [self] in add($0) } }

  func add(_ span: ExportedSpan.Record) {
    let isTaken = queue.withLock { queue in
      guard queue.count < TraceLimits.queuedMax else { return false }
      queue.append(span)
      return true
    }
    if !isTaken { metrics.traceSpans.add(.dropped) }
  }

  private func take() -> [ExportedSpan.Record] {
    queue.withLock { queue in
      defer { queue.removeFirst(min(queue.count, TraceLimits.batchMax)) }
      return Array(queue.prefix(TraceLimits.batchMax))
    }
  }

  /// Sends spans until its task is cancelled.
  public func run(by client: WebClient) async {
    // The sleep throws when the task is cancelled.
    while (try? await Task.sleep(for: TraceLimits.interval)) != nil { await flush(by: client) }
  }

  /// Sends what waits, each batch once; for the server's end.
  public func finish(by client: WebClient) async {
    await flush(by: client, attemptsMax: 1, timeout: TraceLimits.stopTimeout)
  }

  private func flush(
    by client: WebClient, attemptsMax: Int = TraceLimits.attemptsMax, timeout: Duration = TraceLimits.timeout
  ) async {
    while true {
      let spans = take()
      if spans.isEmpty { return }
      let request = WebRequest(
        .post, options.url,
        headers: [("content-type", "application/json"), ("user-agent", "Parley/\(options.version)")],
        body: .bytes(OTLP.request(spans, service: options.service, version: options.version)), timeout: timeout)
      var attempt = 1
      var failure = await send(request, by: client)
      while let found = failure, let wait = found.retry, attempt < attemptsMax {
        let doubled = TraceLimits.retryWait * (1 << (attempt - 1)) * Double.random(in: 0.5..<1.5)
        guard (try? await Task.sleep(for: min(max(wait, doubled), TraceLimits.retryWaitMax))) != nil else { break }
        attempt += 1
        failure = await send(request, by: client)
      }
      if failure != nil, Task.isCancelled {
        // The server stops, and `finish` sends them.
        queue.withLock { $0.insert(contentsOf: spans, at: 0) }
        return
      }
      metrics.traceSpans.add(failure == nil ? .sent : .failed, spans.count)
      note(failure)
      // The others would fail as well, and wait for their turn.
      if failure != nil { return }
    }
  }

  private struct Failure: Error {
    let reason: String
    /// The least wait before another attempt; nil if there is to be none.
    let retry: Duration?
  }

  private func send(_ request: WebRequest, by client: WebClient) async -> Failure? {
    do throws(WebFailure) {
      let answer = try await client.send(request)
      if answer.isSuccess { return nil }
      // "Retryable Response Codes": all others must not be sent again.
      let isRetryable = [429, 502, 503, 504].contains(answer.status)
      return Failure(
        reason: "the collector answers with status \(answer.status)",
        retry: isRetryable ? .seconds(min(answer.retryAfter ?? 0, 3_600)) : nil)
    } catch {
      let isRetryable = error.kind == .unreachable || error.kind == .overloaded
      return Failure(reason: error.description, retry: isRetryable ? .zero : nil)
    }
  }

  private func note(_ failure: Failure?) {
    let isNews = isFailing.withLock { isFailing in
      defer { isFailing = failure != nil }
      return isFailing != (failure != nil)
    }
    guard isNews else { return }
    if let failure {
      logger.warning("traces are lost", metadata: ["url": "\(options.url)", "reason": "\(failure.reason)"])
    } else {
      logger.notice("traces are taken again", metadata: ["url": "\(options.url)"])
    }
  }
}
