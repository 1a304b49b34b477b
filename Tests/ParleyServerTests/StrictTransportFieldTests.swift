import Dialogs
import HTTPTypes
import Hummingbird
import Logging
import NIOEmbedded
import Testing

@testable import HTTPPort

/// The field of RFC 6797 in answers.
@Suite struct StrictTransportFieldTests {
  private func field(
    _ path: String, at authority: String?, isSecure: Bool, method: HTTPRequest.Method = .get
  ) async throws -> String? {
    let site = HTTPSite(routes: [HTTPRoute(.get, "/known") { _, _ in Response(status: .ok) }])
    // Hummingbird reads the request's id from it.
    var logger = Logger(label: "test") { StreamLogHandler.standardError(label: $0) }
    logger.logLevel = .critical
    logger[metadataKey: "hb.request.id"] = "1"
    let responder = SiteResponder(
      [site], origins: .any, proxies: TrustedProxies(), isSecure: isSecure, isStrict: { $0 == "example.net" },
      traces: nil, refusals: RefusalLog(logger), downloads: nil)
    let request = Request(
      head: HTTPRequest(method: method, scheme: nil, authority: authority, path: path),
      body: RequestBody(buffer: .init()))
    let source = ApplicationRequestContextSource(channel: EmbeddedChannel(), logger: logger)
    return try await responder.respond(to: request, context: HTTPContext(source: source))
      .headers[.strictTransportSecurity]
  }

  /// In refusals too, and for no domain below.
  @Test func everyAnswerOverTLSHasIt() async throws {
    let requests: [(path: String, method: HTTPRequest.Method)] = [
      ("/known", .get), ("/unknown", .get), ("/known", .put), ("/known", .head),
    ]
    for (path, method) in requests {
      #expect(
        try await field(path, at: "example.net", isSecure: true, method: method) == "max-age=31536000",
        "\(method) \(path)")
    }
  }

  /// RFC 6797 7.2.
  @Test func noneElseHasIt() async throws {
    #expect(try await field("/known", at: "example.net", isSecure: false) == nil)
    #expect(try await field("/known", at: "chat.example.net", isSecure: true) == nil)
    #expect(try await field("/known", at: nil, isSecure: true) == nil)
  }
}
