import Basics

/// One request to another server.
public struct WebRequest: Sendable {
  public enum Method: String, Sendable {
    case get = "GET", head = "HEAD", post = "POST", put = "PUT", delete = "DELETE"
  }

  public enum Body: Sendable {
    case none
    case bytes([UInt8])
    /// The first bytes of a file.
    case file(path: String, count: Int64)
  }

  public var method: Method
  public var url: String
  public var headers: [(name: String, value: String)]
  public var body: Body
  /// The time from the submission to the last byte of the answer.
  public var timeout: Duration
  /// The bytes of the answer; a longer one fails (`WebFailure.tooLarge`).
  public var answerBytesMax: Int
  /// Whether HTTP/2 is requested: many requests share one connection.
  public var prefersHTTP2: Bool
  /// The AWS Signature Version 4, as S3 requires it.
  public var signing: Signing?

  public struct Signing: Sendable {
    public var accessKey: String
    public var secretKey: String
    public var region: String
    public var service: String
    public init(accessKey: String, secretKey: String, region: String, service: String) {
      (self.accessKey, self.secretKey, self.region, self.service) = (accessKey, secretKey, region, service)
    }
  }

  public init(
    _ method: Method, _ url: String, headers: [(name: String, value: String)] = [], body: Body = .none,
    timeout: Duration = WebLimits.timeout, answerBytesMax: Int = WebLimits.answerBytesMax, prefersHTTP2: Bool = false,
    signing: Signing? = nil
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
    self.timeout = timeout
    self.answerBytesMax = answerBytesMax
    self.prefersHTTP2 = prefersHTTP2
    self.signing = signing
  }
}

/// The answer, whatever its status.
public struct WebAnswer: Sendable {
  public let status: Int
  /// The fields in their order, with names in lower case.
  public let headers: [(name: String, value: String)]
  public let body: [UInt8]

  public init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  public var isSuccess: Bool { (200..<300).contains(status) }

  /// Returns the first field of this name, which is in lower case.
  public func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

  /// The seconds that the server asks to wait (RFC 9110 10.2.3). A date is one by the server's own clock, if it tells that.
  public var retryAfter: Int? {
    guard let text = header("retry-after") else { return nil }
    if let seconds = Int(text) { return max(0, seconds) }
    guard let time = Timestamp(httpDate: text) else { return nil }
    let now = header("date").flatMap { Timestamp(httpDate: $0) } ?? SystemClock.now
    return Int(clamping: max(0, time.milliseconds - now.milliseconds + 999) / 1_000)
  }
}

/// The reason why there is no answer.
public struct WebFailure: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Kind: Hashable, Sendable {
    /// The URL is invalid, or of another scheme than http and https.
    case malformed
    /// The URL leads to an address that is not public.
    case forbidden
    /// The server does not answer, or not in time.
    case unreachable
    /// The server has no trusted certificate.
    case untrusted
    /// A mail server refuses this mail permanently.
    case refused
    case tooLarge
    /// Too many requests are under way.
    case overloaded
    case cancelled
  }
  public let kind: Kind
  public let description: String
  public init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }

  static let cancelled = WebFailure(.cancelled, "The request was cancelled.")
}
