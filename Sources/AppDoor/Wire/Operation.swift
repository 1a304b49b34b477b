import HTTPPort
import JSON

/// The rate that an operation draws on; without a token every operation draws on that of the client's address.
enum OperationRate: Sendable {
  case messages, requests
  /// As `requests`, but also while the user owes stanzas (`SendingBudget.checkStanzas`): whoever has taken over a login must not keep
  /// its user from ending it.
  case endsOfLogins
  /// Calls are not limited.
  case none
}

/// The description of an operation of the app protocol; `docs/openapi.yaml` has the same in full.
protocol Operation: Sendable {
  /// The input, decoded from body, path and query together, or from a command's `data`.
  associatedtype Input: Decodable & Hashable & Sendable
  /// The output; `EmptyBody` for status 204.
  associatedtype Output: Hashable & Sendable & JSONWritable

  /// The name, such as `message.send`: the `operationId`, and the command if there is one.
  static var name: String { get }
  static var method: Method { get }
  /// The path, such as `/v1/dialogs/{dialogId}/messages`: braces name members of `Input`.
  static var path: String { get }
  /// The statuses of success.
  static var successes: [Int] { get }
  /// Whether a bearer token is required.
  static var needsCaller: Bool { get }
  /// The rate that a call draws on.
  static var rate: OperationRate { get }
  /// Whether the answer has an ETag, and is 304 for a client that has it (RFC 9110 13.1.2).
  static var isConditional: Bool { get }
}

extension Operation {
  static var successes: [Int] { Output.self == EmptyBody.self ? [204] : [200] }
  static var needsCaller: Bool { true }
  static var rate: OperationRate { .requests }
  static var isConditional: Bool { false }

  /// The names in the path's braces, in order.
  static var pathParameters: [String] {
    path.split(separator: "/").filter { $0.hasPrefix("{") && $0.hasSuffix("}") }
      .map { String($0.dropFirst().dropLast()) }
  }
}
