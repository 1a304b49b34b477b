public import HTTPTypes

/// An HTTP error that sites throw and the port answers.
public struct HTTPRefusal: Error, Sendable, Equatable {
  public let status: Int
  /// The stable code of the problem, a slug.
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
