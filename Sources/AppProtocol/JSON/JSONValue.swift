/// One JSON value as it was written (RFC 8259): members keep their order,
/// numbers their digits, so that what an app stores comes back unchanged.
public enum JSONValue: Hashable, Sendable {
  case null
  case bool(Bool)
  /// The number's own text, valid by RFC 8259 6.
  case number(String)
  case string(String)
  case array([JSONValue])
  case object([Member])

  public struct Member: Hashable, Sendable {
    public var name: String
    public var value: JSONValue
    public init(_ name: String, _ value: JSONValue) {
      self.name = name
      self.value = value
    }
  }

  /// The member of an object; nil for other values and absent members.
  public subscript(_ name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.name == name }?.value
  }

  public var string: String? {
    guard case .string(let text) = self else { return nil }
    return text
  }

  /// What to call the value's type in a message for people.
  public var typeName: String {
    switch self {
    case .null: "null"
    case .bool: "a boolean"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }

  /// Compact JSON text.
  public var text: String {
    var writer = JSONWriter()
    writer.value(self)
    return writer.text
  }
}

/// Numbers are compared and coded by their text where the coder allows it;
/// a foreign coder sees a Double or an Int64.
extension JSONValue: Codable {
  public init(from decoder: any Decoder) throws {
    if let input = decoder as? InputDecoder {
      self = input.value
      return
    }
    if let container = try? decoder.container(keyedBy: AnyKey.self) {
      self = .object(
        try container.allKeys.map { Member($0.stringValue, try container.decode(JSONValue.self, forKey: $0)) })
      return
    }
    let single = try decoder.singleValueContainer()
    if single.decodeNil() {
      self = .null
    } else if let value = try? single.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? single.decode(Int64.self) {
      self = .number("\(value)")
    } else if let value = try? single.decode(Double.self) {
      self = .number("\(value)")
    } else if let value = try? single.decode(String.self) {
      self = .string(value)
    } else {
      self = .array(try single.decode([JSONValue].self))
    }
  }

  public func encode(to encoder: any Encoder) throws {
    switch self {
    case .object(let members):
      var container = encoder.container(keyedBy: AnyKey.self)
      for member in members { try container.encode(member.value, forKey: AnyKey(member.name)) }
    case .null:
      var single = encoder.singleValueContainer()
      try single.encodeNil()
    case .bool(let value):
      var single = encoder.singleValueContainer()
      try single.encode(value)
    case .number(let text):
      var single = encoder.singleValueContainer()
      if let value = Int64(text) { try single.encode(value) } else { try single.encode(Double(text) ?? 0) }
    case .string(let value):
      var single = encoder.singleValueContainer()
      try single.encode(value)
    case .array(let values):
      var single = encoder.singleValueContainer()
      try single.encode(values)
    }
  }
}

/// A key whose name is known only at run time.
public struct AnyKey: CodingKey, Hashable, Sendable {
  public let stringValue: String
  public let intValue: Int?
  public init(_ name: String) {
    stringValue = name
    intValue = nil
  }
  public init?(stringValue: String) { self.init(stringValue) }
  public init?(intValue: Int) {
    stringValue = "\(intValue)"
    self.intValue = intValue
  }
}

/// A JSON object that is carried and not read: its text, which always comes
/// from `JSONValue.text`, so that a writer may splice it in.
public struct RawObject: Hashable, Sendable {
  /// `{...}`, compact and valid.
  public let text: String

  /// Trusts `text`: it must have been made by `init(_:)` earlier.
  public init(trusted text: String) { self.text = text }

  /// nil for anything but an object.
  public init?(_ value: JSONValue) {
    guard case .object(let members) = value else { return nil }
    text = members.isEmpty ? "{}" : value.text
  }

  public static let empty = RawObject(trusted: "{}")
  public var isEmpty: Bool { text.utf8.count <= 2 }

  /// The object's value; an empty object where the text is no JSON at all.
  public var value: JSONValue { isEmpty ? .object([]) : (try? JSONValue(parsing: text)) ?? .object([]) }
}

extension RawObject: Codable {
  public init(from decoder: any Decoder) throws {
    guard let object = RawObject(try JSONValue(from: decoder)) else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "must be an object"))
    }
    self = object
  }
  public func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
}
