/// Every refusal, in REST (`application/problem+json`) and in WebSocket replies:
/// RFC 9457.
public struct ProblemBody: Codable, Hashable, Sendable, JSONWritable, Error {
  /// `urn:parley:problem:` and the code: names the problem for programs (RFC 9457 3.1.1).
  public var type: String
  /// The same for every problem of one status.
  public var title: String
  public var status: Int
  /// What went wrong, for people.
  public var detail: String
  /// A stable slug.
  public var code: String
  /// The offending member of the input: `content.text`.
  public var field: String?
  /// Seconds to wait before trying again.
  public var retryAfter: Int?
  /// Names this answer in the server's log.
  public var requestId: String?
  /// What to send a proof of the second factor with.
  public var challenge: String?
  /// Where that comes from: `totp` or `sms`.
  public var secondFactor: String?

  public static let typePrefix = "urn:parley:problem:"

  public init(
    title: String, status: Int, detail: String, code: String, field: String? = nil, retryAfter: Int? = nil,
    requestId: String? = nil, challenge: String? = nil, secondFactor: String? = nil
  ) {
    self.secondFactor = secondFactor
    self.challenge = challenge
    self.type = Self.typePrefix + code
    self.title = title
    self.status = status
    self.detail = detail
    self.code = code
    self.field = field
    self.retryAfter = retryAfter
    self.requestId = requestId
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
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
    writer.endObject()
  }
}
