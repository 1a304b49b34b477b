/// The methods that operations use (RFC 9110 9, RFC 5789).
public enum Method: String, Sendable, CaseIterable {
  case get = "GET", post = "POST", put = "PUT", patch = "PATCH", delete = "DELETE"
}

/// One thing a client can ask for, as the wire knows it. Server and clients
/// share this description; `docs/openapi.yaml` has the same in full.
public protocol Operation: Sendable {
  /// Decoded from body, path and query together, or from a command's `data`.
  associatedtype Input: Codable & Hashable & Sendable
  /// `EmptyBody` for status 204.
  associatedtype Output: Codable & Hashable & Sendable & JSONWritable

  /// `message.send`: the `operationId`, and the command where there is one.
  static var name: String { get }
  static var method: Method { get }
  /// `/v1/dialogs/{dialogId}/messages`: braces name members of `Input`.
  static var path: String { get }
  /// The statuses of success.
  static var successes: [Int] { get }
  /// Whether a bearer token is needed.
  static var needsCaller: Bool { get }
  /// Whether the answer has an ETag, and is 304 for who has it (RFC 9110 13.1.2).
  static var isConditional: Bool { get }
}

extension Operation {
  public static var successes: [Int] { Output.self == EmptyBody.self ? [204] : [200] }
  public static var needsCaller: Bool { true }
  public static var isConditional: Bool { false }

  /// The names in the path's braces, in order.
  public static var pathParameters: [String] {
    path.split(separator: "/").filter { $0.hasPrefix("{") && $0.hasSuffix("}") }
      .map { String($0.dropFirst().dropLast()) }
  }
}
