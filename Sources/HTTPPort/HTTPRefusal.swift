public import AppProtocol
public import HTTPTypes
public import Hummingbird
import NIOCore

/// An HTTP error that sites throw and the port answers.
public struct HTTPRefusal: Error, Sendable, Equatable {
  public let status: Int
  /// A stable slug.
  public let code: String
  /// A description of the error for people.
  public let detail: String
  public let headers: HTTPFields

  public init(status: Int, code: String, detail: String, headers: HTTPFields = [:]) {
    self.status = status
    self.code = code
    self.detail = detail
    self.headers = headers
  }
}

extension Response {
  /// Creates a response from a problem (RFC 9457).
  public init(_ problem: ProblemBody, headers: HTTPFields = [:]) {
    var writer = JSONWriter()
    problem.write(to: &writer)
    var headers = headers
    headers[.contentType] = "application/problem+json"
    headers[.cacheControl] = "no-store"
    self.init(
      status: HTTPResponse.Status(code: problem.status), headers: headers,
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: writer.bytes)))
  }

  init(_ refusal: HTTPRefusal, requestID: String) {
    self.init(
      ProblemBody(
        title: Titles.title(refusal.status), status: refusal.status, detail: refusal.detail, code: refusal.code,
        requestId: requestID), headers: refusal.headers)
  }
}

public enum Titles {
  /// Returns the title, which is the same for every problem of a type (RFC 9457 3.1.3): the phrase of the status in RFC
  /// 9110 15.
  public static func title(_ status: Int) -> String {
    switch status {
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 408: "Request Timeout"
    case 409: "Conflict"
    case 411: "Length Required"
    case 413: "Content Too Large"
    case 415: "Unsupported Media Type"
    case 416: "Range Not Satisfiable"
    case 422: "Unprocessable Content"
    case 426: "Upgrade Required"
    case 429: "Too Many Requests"
    case 501: "Not Implemented"
    case 503: "Service Unavailable"
    case 507: "Insufficient Storage"
    default: "Internal Server Error"
    }
  }
}
