public import Dialogs
public import HTTPTypes
public import Hummingbird
public import JSON
import NIOCore

/// A refusal, in REST (`application/problem+json`) and in WebSocket replies (RFC 9457).
public struct ProblemBody: Hashable, Sendable, JSONObjectWritable {
  /// `urn:parley:problem:` and the code, which identifies the problem for programs (RFC 9457 3.1.1).
  public var type: String
  /// The title, the same for every problem of one status.
  public var title: String
  public var status: Int
  /// The explanation for people.
  public var detail: String
  /// The stable code of the problem, a slug.
  public var code: String
  /// The offending member of the input, such as `content.text`.
  public var field: String?
  /// Seconds to wait before trying again.
  public var retryAfter: Int?
  /// The id of this answer in the server's log.
  public var requestId: String?
  /// The challenge to send with a proof of the second factor, or to compute a proof of work from.
  public var challenge: String?
  /// The method of the proof of the second factor: `totp` or `sms`.
  public var secondFactor: String?
  /// The bits with which the hash of the proof of work must end, in hexadecimal digits.
  public var target: String?

  public static let typePrefix = "urn:parley:problem:"

  public init(
    status: Int, detail: String, code: String, field: String? = nil, retryAfter: Int? = nil, challenge: String? = nil,
    secondFactor: String? = nil, target: String? = nil
  ) {
    type = Self.typePrefix + code
    title = Self.title(status)
    self.status = status
    self.detail = detail
    self.code = code
    self.field = field
    self.retryAfter = retryAfter
    self.challenge = challenge
    self.secondFactor = secondFactor
    self.target = target
  }

  /// Creates a problem's body.
  public init(_ problem: Problem) {
    self.init(
      status: problem.kind.status, detail: problem.text, code: problem.code, field: problem.field,
      retryAfter: problem.retryAfter, challenge: problem.challenge,
      secondFactor: problem.secondFactor, target: problem.target)
  }

  /// Returns the title, which is the same for every problem of a type (RFC 9457 3.1.3): the phrase of the status in RFC
  /// 9110 15.
  static func title(_ status: Int) -> String {
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

  public func writeMembers(to writer: inout JSONWriter) {
    writer.member("type", type)
    writer.member("title", title)
    writer.member("status", status)
    writer.member("detail", detail)
    writer.member("code", code)
    writer.member("field", field)
    writer.member("retryAfter", retryAfter)
    writer.member("requestId", requestId)
    writer.member("challenge", challenge)
    writer.member("secondFactor", secondFactor)
    writer.member("target", target)
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
}

/// The status of each kind of problem in all protocols. Exhaustive: a new kind does not compile until it has one.
extension Problem.Kind {
  public var status: Int {
    switch self {
    case .malformed: 400
    case .unauthenticated: 401
    case .forbidden, .blocked, .refused: 403
    // An unreachable user looks like an unknown one.
    case .missing, .unreachable: 404
    case .conflict: 409
    case .tooLarge: 413
    case .foreign: 422
    case .tooFast: 429
    case .internal: 500
    case .unsupported: 501
    case .overloaded: 503
    }
  }
}

extension Problem {
  /// Creates the problem of an input that does not fit its operation.
  public init(_ error: InputError) {
    let text = error.path.isEmpty ? "\(error.text)." : "\(error.path) \(error.text)."
    self.init(.malformed, "input-malformed", text, field: error.path.isEmpty ? nil : error.path)
  }

  public init(_ error: JSONError) {
    self.init(.malformed, "json-malformed", "\(error.reason), at byte \(error.offset).", field: error.member)
  }
}
