import HTTPPort
import HTTPTypes
import Hummingbird
import Logging
import NIOEmbedded
import Testing

@testable import WebPages

/// How the files of the web clients are served.
@Suite struct ClientSiteTests {
  private let routes = ClientSite([.chat]).site.routes

  private func get(_ path: String, _ fields: HTTPFields = [:]) async throws -> Response {
    let route = try #require(routes.first { $0.path == path }, "nothing is served at \(path)")
    let request = Request(
      head: HTTPRequest(method: .get, scheme: nil, authority: nil, path: path, headerFields: fields),
      body: RequestBody(buffer: .init()))
    let source = ApplicationRequestContextSource(channel: EmbeddedChannel(), logger: Logger(label: "test"))
    return try await route.handle(request, HTTPContext(source: source))
  }

  private func file(_ name: String) throws -> String {
    try #require(routes.first { $0.path.hasPrefix("/client/") && $0.path.hasSuffix(name) }).path
  }

  @Test func aFileIsKeptForEverAndAPageIsAskedForAgain() async throws {
    #expect(try await get(file("/web/app.js")).headers[.cacheControl] == "public, max-age=31536000, immutable")
    for path in ["/", "/sw.js", "/manifest.webmanifest"] {
      #expect(try await get(path).headers[.cacheControl] == "no-cache")
    }
  }

  /// RFC 9110 13.1.2: a weak comparison, of any of the list.
  @Test func whoHasItIsToldSo() async throws {
    let page = try await get("/")
    let tag = try #require(page.headers[.eTag])
    #expect(page.status == .ok && page.body.contentLength ?? 0 > 0)
    for held in [tag, "W/\(tag)", "\"other\", \(tag)", "*"] {
      let again = try await get("/", [.ifNoneMatch: held])
      #expect(again.status == .notModified && again.body.contentLength == 0 && again.headers[.eTag] == tag)
    }
    #expect(try await get("/", [.ifNoneMatch: "\"other\""]).status == .ok)
  }

  /// RFC 9110 8.8.3.3 and 12.5.3.
  @Test(arguments: [
    ("gzip", true), ("br, GZIP;q=0.5", true), ("*", true), ("gzip;q=0", false), ("gzip; q=0.000", false), ("br", false),
  ])
  func compressedForWhoAccepts(_ coding: String, _ isCompressed: Bool) async throws {
    let plain = try await get("/")
    let answer = try await get("/", [.acceptEncoding: coding])
    #expect((answer.headers[.contentEncoding] == "gzip") == isCompressed)
    #expect((answer.headers[.eTag] == plain.headers[.eTag]) != isCompressed)
    #expect(answer.headers[.vary] == "Accept-Encoding")
    if isCompressed { #expect(answer.body.contentLength ?? .max < plain.body.contentLength ?? 0) }
  }

  @Test func everythingIsServedUnderTheStrictPolicy() async throws {
    for route in routes {
      let headers = try await get(route.path).headers
      let policy = try #require(headers[.contentSecurityPolicy], "\(route.path)")
      #expect(policy.contains("default-src 'none'") && policy.contains("require-trusted-types-for 'script'"))
      #expect(!policy.contains("unsafe") && !policy.contains("*") && !policy.contains("http"))
      #expect(headers[.xContentTypeOptions] == "nosniff" && headers[.contentType] != "application/octet-stream")
    }
  }

  @Test func onlyTheFilesOfTheChosenClientsAreThere() {
    let paths = routes.map(\.path)
    #expect(Set(paths).count == paths.count)
    #expect(!paths.contains { $0.contains("/admin") || $0.contains("**") })
    #expect(ClientSite([.chat, .admin]).site.routes.contains { $0.path == "/admin" })
    // The address has the hash of all files: one base, and never that of the sources.
    let bases = Set(paths.filter { $0.hasPrefix("/client/") }.map { $0.split(separator: "/")[1] })
    #expect(bases.count == 1 && bases.first?.utf8.count == 16)
  }
}
