public import Foundation

/// Every failure that the SDK reports. Decide by ``code``; ``detail`` is for developers.
public struct ParleyError: Error, Codable, Hashable, Sendable, CustomStringConvertible, LocalizedError {
  /// The stable code of the problem (RFC 9457) that the server answered; or one of the SDK's own: `network` (no answer arrived, the
  /// effect is unknown), `aborted`, `signed-out`, `closed`, `storage` (the local store), `outbox-full`, `path-malformed` (an id of dots,
  /// which no URL can have), `answer-malformed` (not an answer of Parley).
  public let code: String
  public let detail: String
  /// The HTTP status; 0 without an answer.
  public let status: Int
  /// The member of the request that is wrong.
  public let field: String?
  /// Seconds after which a repeat can succeed.
  public let retryAfter: Double?
  public let requestId: String?
  /// With `second-factor-required`: for ``SignIn/secondFactor(challenge:code:)``.
  public let challenge: String?
  /// `totp` or `sms`.
  public let secondFactor: String?
  /// With `registration-proof-required`, beside ``challenge``: what `signUp` computes a proof of work for.
  public let target: String?

  init(_ code: String, _ detail: String, status: Int = 0) {
    (self.code, self.detail, self.status) = (code, detail, status)
    (field, retryAfter, requestId, challenge, secondFactor, target) = (nil, nil, nil, nil, nil, nil)
  }

  init(_ problem: Problem, status: Int? = nil, retryAfter: Double? = nil) {
    code = problem.code ?? "answer-malformed"
    detail = problem.detail ?? problem.title ?? ""
    self.status = status ?? problem.status ?? 0
    field = problem.field
    self.retryAfter = problem.retryAfter ?? retryAfter
    requestId = problem.requestId
    challenge = problem.challenge
    secondFactor = problem.secondFactor
    target = problem.target
  }

  /// Whether the same request may succeed later: no answer, too fast, or a server that is not operational at present.
  public var isTemporary: Bool {
    code == "network" || status == 408 || status == 429 || (status >= 500 && status != 501 && status != 505)
  }

  var isToken: Bool { code == "token-expired" || code == "token-invalid" }

  public var description: String { detail.isEmpty ? code : "\(code): \(detail)" }
  public var errorDescription: String? { description }

  static let signedOut = Self("signed-out", "Nobody is signed in.")
  static let aborted = Self("aborted", "The request was aborted.")
  static let closed = Self("closed", "The client has been closed.")
  static func network(_ detail: String) -> Self { Self("network", detail) }
  static func storage(_ error: any Error) -> Self { Self("storage", "The local store: \(error)") }
  static func of(_ error: any Error) -> Self {
    if error is CancellationError { return .aborted }
    return error as? ParleyError ?? .network(reason(of: error))
  }

  /// What an error of a transport says to people. What libraries print of their errors says where they happened instead.
  static func reason(of error: any Error) -> String {
    (error as? any LocalizedError)?.errorDescription ?? (error as? URLError)?.localizedDescription ?? "\(error)"
  }
}

/// A problem of an HTTP answer, or of a reply on the WebSocket.
struct Problem: Decodable {
  var code, detail, title, field, requestId, challenge, secondFactor, target: String?
  var status: Int?
  var retryAfter: Double?
}
