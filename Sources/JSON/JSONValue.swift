/// A JSON value as it was written (RFC 8259): members keep their order, numbers their digits, so that an app's data is
/// returned unchanged.
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

  /// Returns a member of an object; `nil` for other values and absent members.
  public subscript(_ name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.name == name }?.value
  }

  public var string: String? {
    guard case .string(let text) = self else { return nil }
    return text
  }

  /// Creates a finite number, with the fewest digits that identify it.
  public init(_ number: Double) {
    self = .number(Int64(exactly: number).map { "\($0)" } ?? "\(number)")
  }

  /// The `Double` nearest to a number; `nil` for other values.
  public var number: Double? {
    guard case .number(let text) = self else { return nil }
    return Double(text)
  }

  /// The name of the value's type for error texts.
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

  /// The compact JSON text.
  public var text: String {
    var writer = JSONWriter()
    writer.value(self)
    return writer.text
  }
}

/// JSON values support only this engine's coders.
extension JSONValue: Codable {
  public init(from decoder: any Decoder) throws {
    guard let input = decoder as? InputDecoder else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "JSON values are decoded by InputDecoder"))
    }
    self = input.value
  }

  public func encode(to encoder: any Encoder) throws {
    guard let encoder = encoder as? ValueEncoder else {
      throw EncodingError.invalidValue(
        self, .init(codingPath: encoder.codingPath, debugDescription: "JSON values are encoded by this engine"))
    }
    encoder.node.kind = .value(self)
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

/// A JSON object that is passed on without being read: its text, which always comes from `JSONValue.text`, so that a
/// writer may insert it.
public struct RawObject: Hashable, Sendable, JSONWritable {
  /// The object, compact and valid.
  public let text: String

  /// Creates an object from a trusted `text`, which `init(_:)` must have made earlier.
  public init(trusted text: String) { self.text = text }

  /// Creates an object; `nil` for other values.
  public init?(_ value: JSONValue) {
    guard case .object(let members) = value else { return nil }
    text = members.isEmpty ? "{}" : value.text
  }

  public static let empty = RawObject(trusted: "{}")
  public var isEmpty: Bool { text.utf8.count <= 2 }

  public func write(to writer: inout JSONWriter) { writer.raw(text) }

  /// The object's value; empty if the text is no JSON at all.
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
