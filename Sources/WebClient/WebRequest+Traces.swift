import Tracing

extension WebRequest {
  /// Returns the request with the header fields of W3C Trace Context. One that libcurl signs stays as it is: the signature
  /// would have to cover them.
  func traced(by tracer: any Tracer, in context: ServiceContext) -> WebRequest {
    if signing != nil { return self }
    var request = self
    tracer.inject(context, into: &request.headers, using: FieldInjector())
    return request
  }

  /// The host and port of the URL, without a path or a name and a password, which may be secrets.
  fileprivate var authority: String {
    let rest = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
    let authority = rest.prefix { !"/?#".contains($0) }
    return String(authority.split(separator: "@").last ?? "")
  }

  private struct FieldInjector: Injector {
    func inject(_ value: String, forKey key: String, into fields: inout [(name: String, value: String)]) {
      fields.append((key, value))
    }
  }
}

extension Tracing.Span {
  /// Notes what came of a request.
  func tell(_ result: Result<WebAnswer, WebFailure>, of request: WebRequest) {
    attributes["http.request.method"] = request.method.rawValue
    attributes["server.address"] = request.authority
    switch result {
    case .success(let answer):
      attributes["http.response.status_code"] = answer.status
      if answer.status >= 400 { setStatus(SpanStatus(code: .error)) }
    case .failure(let failure): setStatus(SpanStatus(code: .error, message: failure.description))
    }
  }
}
