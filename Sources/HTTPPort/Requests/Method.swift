public import HTTPTypes

/// The HTTP methods of operations (RFC 9110 9, RFC 5789).
public enum Method: String, Sendable, CaseIterable {
  case get = "GET", post = "POST", put = "PUT", patch = "PATCH", delete = "DELETE"

  /// Whether a request has its input in the body; else it is in the query.
  public var hasBody: Bool { self != .get && self != .delete }
  public var http: HTTPRequest.Method { HTTPRequest.Method(rawValue) ?? .get }
}
