import JSON

/// The object of an operation in the audit: the members of its input that name something. Only these are looked at, so
/// that no password, token or text gets into it, nor a URL, which may have a secret in it.
enum AuditObject {
  /// The members, in the order in which they are written.
  private static let names = [
    "jid", "dialog", "subject", "owner", "sender", "recipient", "userIds", "contact", "group", "domain", "id",
    "failure", "message", "path", "level", "role", "state", "isAllowed", "erase", "scopes",
  ]

  static func text(of input: some Encodable) -> String {
    guard let json = try? JSONValue(encoding: input) else { return "" }
    return names.compactMap { name in json[name].flatMap { text($0, name) } }.joined(separator: " ")
  }

  private static func text(_ value: JSONValue, _ name: String) -> String? {
    switch value {
    case .string(let text): text.isEmpty ? nil : text
    case .number(let digits): digits
    case .bool(let isSet): "\(name)=\(isSet)"
    case .array(let values): values.compactMap { text($0, name) }.joined(separator: ",")
    case .null, .object: nil
    }
  }
}
