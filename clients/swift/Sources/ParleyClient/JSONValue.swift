import Foundation

/// Any value of JSON: for the members that an app defines, and those that this version does not know.
public enum JSONValue: Codable, Hashable, Sendable {
  case null
  case bool(Bool)
  case integer(Int)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object(JSONObject)

  public init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    if value.decodeNil() {
      self = .null
    } else if let string = try? value.decode(String.self) {
      self = .string(string)
    } else if let bool = try? value.decode(Bool.self) {
      self = .bool(bool)
    } else if let integer = try? value.decode(Int.self) {
      self = .integer(integer)
    } else if let number = try? value.decode(Double.self) {
      self = .number(number)
    } else if let array = try? value.decode([JSONValue].self) {
      self = .array(array)
    } else {
      self = .object(try value.decode(JSONObject.self))
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var value = encoder.singleValueContainer()
    switch self {
    case .null: try value.encodeNil()
    case .bool(let bool): try value.encode(bool)
    case .integer(let integer): try value.encode(integer)
    case .number(let number): try value.encode(number)
    case .string(let string): try value.encode(string)
    case .array(let array): try value.encode(array)
    case .object(let object): try value.encode(object)
    }
  }

  public var string: String? { if case .string(let value) = self { value } else { nil } }
  public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
  public var integer: Int? { if case .integer(let value) = self { value } else { nil } }
  public var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }
  public var object: JSONObject? { if case .object(let value) = self { value } else { nil } }
  /// The number, whether or not it has a fraction.
  public var number: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .number(let value): value
    case .null, .bool, .string, .array, .object: nil
    }
  }
}

/// An object of JSON.
public typealias JSONObject = [String: JSONValue]

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
  public init(stringLiteral value: String) { self = .string(value) }
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(integerLiteral value: Int) { self = .integer(value) }
  public init(floatLiteral value: Double) { self = .number(value) }
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(JSONObject(elements, uniquingKeysWith: { $1 }))
  }
  public init(nilLiteral: ()) { self = .null }
}

extension JSONObject {
  /// The members that have a value.
  init(_ members: [(String, JSONValue?)]) {
    self = JSONObject(members.compactMap { name, value in value.map { (name, $0) } }, uniquingKeysWith: { $1 })
  }
}

extension JSONValue {
  init?(_ value: String?) {
    guard let value else { return nil }
    self = .string(value)
  }
  init?(_ value: Int?) {
    guard let value else { return nil }
    self = .integer(value)
  }

  init(_ value: some Encodable) throws { self = try JSON.decode(JSONValue.self, from: JSON.encode(value)) }
}

/// JSON as the protocol writes it: times are RFC 3339 with milliseconds.
enum JSON {
  private static let milliseconds = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
  private static let seconds = Date.ISO8601FormatStyle()

  static func time(_ text: String) throws -> Date {
    do { return try milliseconds.parse(text) } catch { return try seconds.parse(text) }
  }

  static func text(_ time: Date) -> String { milliseconds.format(time) }

  static func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .custom { decoder in
      let container = try decoder.singleValueContainer()
      return try time(container.decode(String.self))
    }
    return try decoder.decode(type, from: data)
  }

  static func encode(_ value: some Encodable) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .custom { time, encoder in
      var container = encoder.singleValueContainer()
      try container.encode(text(time))
    }
    return try encoder.encode(value)
  }
}

/// A word of the protocol, of which later servers may know more.
public protocol Word: RawRepresentable, Codable, Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible
where RawValue == String, StringLiteralType == String {
  init(rawValue: String)
}

extension Word {
  public init(stringLiteral value: String) { self.init(rawValue: value) }
  public var description: String { rawValue }
}
