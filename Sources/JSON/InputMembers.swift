/// An input of every message, which reads its members itself. `Decodable`'s containers look the same members up through
/// several layers of boxes, and cost more than the parsing of the text.
public protocol DirectInput: Decodable {
  /// Reads the members. Throws `InputError`, with the texts of `InputDecoder`.
  init(_ members: InputMembers) throws
}

extension DirectInput {
  public init(from decoder: any Decoder) throws {
    let value = try JSONValue(from: decoder)
    let parameters = (decoder as? InputDecoder)?.parameters ?? [:]
    try self.init(InputMembers(value, parameters: parameters, path: InputDecoder.path(decoder.codingPath)))
  }
}

/// The members of an object, and the parameters of path and query, which precede them.
public struct InputMembers {
  private let members: [JSONValue.Member]
  private let parameters: [String: String]
  /// The path of the object; empty for the whole input.
  private let path: String

  init(_ value: JSONValue, parameters: [String: String] = [:], path: String = "") throws {
    guard case .object(let members) = value else {
      throw InputError(path: path, text: "must be an object, not \(value.typeName)")
    }
    self.members = members
    self.parameters = parameters
    self.path = path
  }

  public func text(_ name: String) throws -> String {
    guard let value = find(name) else { throw InputError(path: path(name), text: "is missing") }
    return try text(value, name)
  }

  /// Returns a text; `nil` if it is absent or null.
  public func textIfPresent(_ name: String) throws -> String? {
    switch find(name) {
    case nil, .null: nil
    case let value?: try text(value, name)
    }
  }

  public func inputIfPresent<Value: DirectInput>(_ name: String) throws -> Value? {
    switch find(name) {
    case nil, .null: nil
    case let value?: try Value(InputMembers(value, path: path(name)))
    }
  }

  /// Returns a rare member; `nil` if it is absent or null.
  public func ifPresent<Value: Decodable>(_ name: String) throws -> Value? {
    switch find(name) {
    case nil, .null: nil
    case let value?:
      try InputDecoder(
        value, isParameter: parameters[name] != nil, path: path.isEmpty ? [AnyKey(name)] : [AnyKey(path), AnyKey(name)]
      ).decode(Value.self)
    }
  }

  /// Returns the other members as an object.
  public func others(than names: (String, String)) -> RawObject {
    let others = members.filter { $0.name != names.0 && $0.name != names.1 }
    return others.isEmpty ? .empty : RawObject(.object(others)) ?? .empty
  }

  private func find(_ name: String) -> JSONValue? {
    if !parameters.isEmpty, let text = parameters[name] { return .string(text) }
    for member in members where member.name == name { return member.value }
    return nil
  }

  private func path(_ name: String) -> String { path.isEmpty ? name : path + "." + name }

  private func text(_ value: JSONValue, _ name: String) throws -> String {
    guard case .string(let text) = value else {
      throw InputError(path: path(name), text: "must be a string, not \(value.typeName)")
    }
    return text
  }
}
