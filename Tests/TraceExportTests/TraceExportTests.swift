import Addresses
import Basics
import Dialogs
import DialogsFixtures
import JSON
import Logging
import ServerMetrics
import Synchronization
import Testing
import Tracing

@testable import TraceExport

/// Spans, from where they begin to the body that the collector gets.
@Suite(.timeLimit(.minutes(1)))
struct TraceExportTests {
  /// A tracer, and what has ended.
  private final class Ended: Sendable {
    private let records = Mutex<[ExportedSpan.Record]>([])
    var all: [ExportedSpan.Record] { records.withLock { $0 } }
    func tracer(ratio: Double = 1) -> SpanTracer {
      SpanTracer(ratio: ratio) { span in self.records.withLock { $0.append(span) } }
    }
  }

  @Test func aSpanIsWrittenAsTheProtocolWantsIt() throws {
    let context = try #require(TraceContext(traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"))
    var span = ExportedSpan.Record(
      name: "GET /v1/me", kind: .server, context: context, parent: [1, 2, 3, 4, 5, 6, 7, 8],
      start: 1_700_000_000_000_000_001)
    span.end = 1_700_000_000_000_000_002
    span.attributes["http.response.status_code"] = 200
    span.attributes["http.route"] = "/v1/me"
    span.status = SpanStatus(code: .error, message: "overloaded")
    let expected = """
      {"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"chat"}},\
      {"key":"service.version","value":{"stringValue":"1.0"}}]},"scopeSpans":[{"scope":{"name":"parley","version":"1.0"},\
      "spans":[{"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"00f067aa0ba902b7","parentSpanId":"0102030405060708",\
      "flags":1,"name":"GET /v1/me","kind":2,"startTimeUnixNano":"1700000000000000001",\
      "endTimeUnixNano":"1700000000000000002","attributes":[{"key":"http.response.status_code","value":{"intValue":"200"}},\
      {"key":"http.route","value":{"stringValue":"/v1/me"}}],"status":{"code":2,"message":"overloaded"}}]}]}]}
      """
    #expect(String(decoding: OTLP.request([span], service: "chat", version: "1.0"), as: UTF8.self) == expected)
  }

  @Test func theFirstSpanDecidesForItsTrace() {
    let ended = Ended()
    let tracer = ended.tracer(ratio: 0)
    let root = tracer.startSpan("root", context: .topLevel)
    tracer.startSpan("child", context: root.context).end()
    root.end()
    #expect(!root.isRecording && ended.all.isEmpty)
    // The caller's decision stands before the share.
    var caller = ServiceContext.topLevel
    caller.trace = TraceContext(traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
    let span = tracer.startSpan("called", context: caller, ofKind: .server)
    span.end()
    span.end()
    #expect(ended.all.map(\.name) == ["called"])
    #expect(Hex.string(ended.all[0].parent) == "00f067aa0ba902b7")
    #expect(span.context.trace?.trace == caller.trace?.trace && span.context.trace?.span != caller.trace?.span)
  }

  @Test func whatDoesNotFitIsDroppedAndCounted() {
    let metrics = Metrics()
    let exporter = TraceExporter(
      .init(url: "http://collector", ratio: 1, service: "chat", version: "1.0"), metrics: metrics,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    for _ in 0..<TraceLimits.queuedMax + 3 { exporter.tracer.startSpan("span", context: .topLevel).end() }
    #expect(metrics.exposition(Readings()).contains(#"parley_trace_spans_total{result="dropped"} 3"#))
  }

  @Test func aPostGoesFromItsRequestToItsDelivery() async throws {
    let ended = Ended()
    let traces = Traces(ended.tracer())
    let stage = try Stage(traces: traces)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    #expect(ended.all.isEmpty)  // Nobody asked within a span.
    let span = traces.start("request", .server, in: .topLevel)
    let receipt = try await ServiceContext.$current.withValue(span.context) {
      try await stage.say("Good night", from: romeo, to: juliet)
    }
    span.end()
    // The post ends behind its effects: once the committer is done.
    await stage.parley.stop()
    let all = Dictionary(uniqueKeysWithValues: ended.all.map { ($0.name, $0) })
    #expect(Set(all.keys) == ["request", "post message", "commit", "deliver"])
    let (request, post) = (try #require(all["request"]), try #require(all["post message"]))
    #expect(post.parent == request.context.span && post.context.trace == request.context.trace)
    #expect(all["commit"]?.parent == post.context.span && all["deliver"]?.parent == post.context.span)
    #expect(request.parent.isEmpty)
    let commit = try #require(all["commit"])
    #expect(post.start <= commit.start && commit.end == all["deliver"]?.start)
    // What follows the log later finds the trace by the entry.
    let position = try #require(receipt.entry?.position)
    await traces.sending("webhook", after: position) {}
    await traces.sending("webhook", after: Position(position.number + 1)) {}
    #expect(ended.all.filter { $0.name == "webhook" }.map(\.parent) == [post.context.span])
  }

  @Test func aRowOfTheOutboxIsOverWhenItIsTaken() async throws {
    let ended = Ended()
    let traces = Traces(ended.tracer())
    let stage = try Stage(traces: traces)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let request = traces.start("request", .server, in: .topLevel)
    var positions: [Position] = []
    for text in ["one", "two", "three"] {
      let receipt = try await ServiceContext.$current.withValue(request.context) {
        try await stage.say(text, from: romeo, to: juliet)
      }
      positions.append(try #require(receipt.entry?.position))
    }
    func sent() -> [SpanStatus.Code?] { ended.all.filter { $0.name == "federation send" }.map(\.status?.code) }
    var rows = TracedRows()
    for position in positions { rows.wrote(position, to: "capulet.example", traces) }
    // One whose trace is not known has no span.
    rows.wrote(Position(positions[2].number + 7), to: "capulet.example", traces)
    rows.took(through: positions[1])
    #expect(sent() == [nil, nil])
    rows.lost()
    rows.took(through: .end)
    #expect(sent() == [nil, nil, .error])
  }

  @Test func aRefusedPostHasTheCode() async throws {
    let ended = Ended()
    let traces = Traces(ended.tracer())
    let stage = try Stage(traces: traces)
    let romeo = try await stage.user("romeo")
    let span = traces.start("request", .server, in: .topLevel)
    let nobody = Party(id: UserID(4_711), realm: romeo.realm, address: try BareJID("nobody@localhost"))
    await #expect(throws: Problem.self) {
      try await ServiceContext.$current.withValue(span.context) {
        _ = try await stage.say("Hello", from: romeo, to: nobody)
      }
    }
    await stage.parley.stop()
    let post = try #require(ended.all.first { $0.name == "post message" })
    #expect(post.status?.code == .error && post.status?.message?.isEmpty == false)
  }
}
