/// The inputs of operations and commands. The parameters of path and query are members too: `POST
/// /v1/dialogs/{dialogId}/messages` with `{clientId, content}` and the command `message.send` with `{dialogId,
/// clientId, content}` are the same input. Unknown members are ignored.

/// The input of operations without any.
struct NoInput: Decodable, Hashable, Sendable {}

/// A member that may be absent (unchanged), null (clear it) or a value.
enum Change<Value: Decodable & Hashable & Sendable>: Hashable, Sendable {
  case keep
  case clear
  case set(Value)
}

extension Change: Decodable {
  init(from decoder: any Decoder) throws { self = .set(try Value(from: decoder)) }
}

extension KeyedDecodingContainer {
  /// Decodes what an absent member, an explicit null and a value ask for; the compiler's `init(from:)` prefers it.
  func decode<Value>(_ type: Change<Value>.Type, forKey key: Key) throws -> Change<Value> {
    if !contains(key) { return .keep }
    if try decodeNil(forKey: key) { return .clear }
    return .set(try decode(Value.self, forKey: key))
  }
}
