import Basics
import JSON
import Tracing

/// The OpenTelemetry protocol over HTTP in JSON (OTLP 1.5, "JSON Protobuf Encoding"): names in lowerCamelCase, ids in hex,
/// enumerations as numbers, 64-bit numbers as texts.
enum OTLP {
  /// Returns the body of a request (`ExportTraceServiceRequest`).
  static func request(_ spans: [ExportedSpan.Record], service: String, version: String) -> [UInt8] {
    let resource = JSONValue.object([
      .init(
        "attributes", .array([attribute("service.name", service), attribute("service.version", version)]))
    ])
    let scope = JSONValue.object([.init("name", .string("parley")), .init("version", .string(version))])
    let value = JSONValue.object([
      .init(
        "resourceSpans",
        .array([
          .object([
            .init("resource", resource),
            .init(
              "scopeSpans",
              .array([.object([.init("scope", scope), .init("spans", .array(spans.map(span)))])])),
          ])
        ]))
    ])
    return Array(value.text.utf8)
  }

  private static func span(_ span: ExportedSpan.Record) -> JSONValue {
    var members: [JSONValue.Member] = [
      .init("traceId", .string(Hex.string(span.context.trace))),
      .init("spanId", .string(Hex.string(span.context.span))),
    ]
    if !span.parent.isEmpty { members.append(.init("parentSpanId", .string(Hex.string(span.parent)))) }
    if let state = span.context.state { members.append(.init("traceState", .string(state))) }
    members += [
      .init("flags", .number("1")), .init("name", .string(cut(span.name))),
      .init("kind", .number("\(number(of: span.kind))")), .init("startTimeUnixNano", .string("\(span.start)")),
      .init("endTimeUnixNano", .string("\(span.end)")), .init("attributes", attributes(span.attributes)),
    ]
    if !span.events.isEmpty {
      let events = span.events.map { event in
        JSONValue.object([
          .init("timeUnixNano", .string("\(event.nanosecondsSinceEpoch)")), .init("name", .string(cut(event.name))),
          .init("attributes", attributes(event.attributes)),
        ])
      }
      members.append(.init("events", .array(events)))
    }
    let links = span.links.compactMap { link in
      link.context.trace.map { trace in
        JSONValue.object([
          .init("traceId", .string(Hex.string(trace.trace))), .init("spanId", .string(Hex.string(trace.span))),
          .init("attributes", attributes(link.attributes)),
        ])
      }
    }
    if !links.isEmpty { members.append(.init("links", .array(links))) }
    if let status = span.status {
      // STATUS_CODE_OK and STATUS_CODE_ERROR.
      let code = JSONValue.Member("code", .number(status.code == .ok ? "1" : "2"))
      members.append(
        .init("status", .object([code] + (status.message.map { [.init("message", .string(cut($0)))] } ?? []))))
    }
    return .object(members)
  }

  /// Returns the number of `SpanKind` in trace.proto.
  private static func number(of kind: SpanKind) -> Int {
    switch kind {
    case .internal: 1
    case .server: 2
    case .client: 3
    case .producer: 4
    case .consumer: 5
    }
  }

  private static func attributes(_ attributes: SpanAttributes) -> JSONValue {
    var members: [(name: String, value: JSONValue)] = []
    attributes.forEach { members.append(($0, value($1))) }
    members.sort { $0.name < $1.name }
    return .array(
      members.prefix(TraceLimits.attributesMax).map {
        .object([.init("key", .string($0.name)), .init("value", $0.value)])
      })
  }

  private static func attribute(_ name: String, _ text: String) -> JSONValue {
    .object([.init("key", .string(name)), .init("value", value(.string(text)))])
  }

  /// Returns an `AnyValue`. The library's enumeration says of itself that it must not be switched over exhaustively.
  private static func value(_ attribute: SpanAttribute) -> JSONValue {
    switch attribute {
    case .int32(let number): .object([.init("intValue", .string("\(number)"))])
    case .int64(let number): .object([.init("intValue", .string("\(number)"))])
    case .double(let number) where number.isFinite: .object([.init("doubleValue", JSONValue(number))])
    case .bool(let flag): .object([.init("boolValue", .bool(flag))])
    case .string(let text): .object([.init("stringValue", .string(cut(text)))])
    default: .object([.init("stringValue", .string(cut("\(attribute)")))])
    }
  }

  private static func cut(_ text: String) -> String { String(text.prefix(TraceLimits.textMax)) }
}
