import HTTPTypes
import Hummingbird
import NIOHTTP1

/// The origins (RFC 6454) whose web pages may use the port, besides its own. Theory:
///
/// A browser lets a page send requests to other origins, and hides the answers unless these carry
/// `Access-Control-Allow-Origin` (Fetch standard, 3.2). A request that a form could not make it announces first, by OPTIONS.
/// A WebSocket it opens to any origin: there the server must refuse.
///
/// The port has no cookies. A page has no more power here than the token or password that it was given, which is why the
/// default is to allow all of them, as peers do for BOSH.
public struct AllowedOrigins: Sendable, Hashable {
  /// `nil` for all of them.
  private let origins: Set<String>?

  /// All origins.
  public static let any = AllowedOrigins(nil)
  /// Those listed, such as `https://chat.example.org`.
  public init(_ origins: Set<String>?) { self.origins = origins.map { Set($0.map { $0.lowercased() }) } }

  func allows(_ origin: String) -> Bool { origins?.contains(origin.lowercased()) ?? true }

  /// Returns whether a client may open a WebSocket: one that is no page names no origin.
  func allows(_ head: HTTPRequestHead) -> Bool {
    allows(origin: head.headers.first(name: "origin"), host: head.headers.first(name: "host"))
  }

  func allows(origin: String?, host: String?) -> Bool {
    guard let origin else { return true }
    if allows(origin) { return true }
    // The page is the port's own. A proxy may have taken TLS off, so that its scheme is not known.
    return host.map { host in origin.lowercased().hasSuffix("://" + host.lowercased()) } ?? false
  }

  /// Returns the answer to the announcement of a request; nil if a request is none, or none of an allowed page.
  func preflight(_ request: Request, methods: String) -> Response? {
    guard request.method == .options, request.headers[.accessControlRequestMethod] != nil,
      let origin = request.headers[.origin], allows(origin)
    else { return nil }
    var headers: HTTPFields = [
      .allow: methods, .accessControlAllowMethods: methods, .accessControlMaxAge: "86400",
    ]
    // No header has a meaning by itself: whatever a page wants to say it may say.
    headers[.accessControlAllowHeaders] = request.headers[.accessControlRequestHeaders]
    return Response(status: .noContent, headers: headers)
  }

  /// Adds to an answer what lets an allowed page read it.
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
