import HTTPTypes
import Hummingbird
import NIOHTTP1

/// The origins (RFC 6454) whose web pages may use the port, besides its own. Theory:
///
/// A browser lets a page send requests to other origins, and hides the answers unless these carry
/// `Access-Control-Allow-Origin` (Fetch standard, 3.2). Before a request that a form could not make, it sends a preflight by
/// OPTIONS. It opens WebSockets to any origin, so the server must refuse these.
///
/// The port has no cookies, so a page can do only what its token or password allows. Therefore all origins are allowed by
/// default, as in other servers for BOSH.
public struct AllowedOrigins: Sendable, Hashable {
  /// `nil` for all of them.
  private let origins: Set<String>?

  /// All origins.
  public static let any = AllowedOrigins(nil)
  /// Creates a list of origins, such as `https://chat.example.org`; `nil` allows all.
  public init(_ origins: Set<String>?) { self.origins = origins.map { Set($0.map { $0.lowercased() }) } }

  func allows(_ origin: String) -> Bool { origins?.contains(origin.lowercased()) ?? true }

  /// Returns whether a client may open a WebSocket. A client that is not a web page sends no origin, and may.
  func allows(_ head: HTTPRequestHead) -> Bool {
    allows(origin: head.headers.first(name: "origin"), host: head.headers.first(name: "host"))
  }

  func allows(origin: String?, host: String?) -> Bool {
    guard let origin else { return true }
    if allows(origin) { return true }
    // The port's own page. Its scheme is not compared, since TLS may end at a proxy.
    return host.map { host in origin.lowercased().hasSuffix("://" + host.lowercased()) } ?? false
  }

  /// Returns the answer to a preflight; nil for any other request, or if the page is not allowed.
  func preflight(_ request: Request, methods: String) -> Response? {
    guard request.method == .options, request.headers[.accessControlRequestMethod] != nil,
      let origin = request.headers[.origin], allows(origin)
    else { return nil }
    var headers: HTTPFields = [
      .allow: methods, .accessControlAllowMethods: methods, .accessControlMaxAge: "86400",
    ]
    // All request headers are allowed, since none has an effect by itself.
    headers[.accessControlAllowHeaders] = request.headers[.accessControlRequestHeaders]
    return Response(status: .noContent, headers: headers)
  }

  /// Adds the fields to an answer that let an allowed page read it.
  func answer(_ request: Request, with response: Response) -> Response {
    guard let origin = request.headers[.origin], allows(origin) else { return response }
    var response = response
    if response.headers[.accessControlAllowOrigin] == nil {
      response.headers[.accessControlAllowOrigin] = origins == nil ? "*" : origin
      response.headers[.accessControlExposeHeaders] = "*"
      if origins != nil { response.headers.append(HTTPField(name: .vary, value: "Origin")) }
    }
    return response
  }
}
