/// The reason why an input does not fit its operation: the member, and the expected value.
public struct InputError: Error, Hashable, Sendable {
  /// The member, such as `content.text`; empty for the whole input.
  public let path: String
  /// The error, a sentence for people.
  public let text: String
  public init(path: String, text: String) {
    self.path = path
    self.text = text
  }
}

/// Decodes an operation's `Input` from a JSON object plus the parameters of its path and query, which are text and
/// precede members of the same name. Unknown members are ignored; every failure names the offending member.
public struct InputDecoder: Decoder {
  public let value: JSONValue
  let parameters: [String: String]
  /// Whether the value is the text of a path or query parameter, where a number and a boolean are written without
  /// quotes.
  let isParameter: Bool
  public let codingPath: [any CodingKey]
  private let lookups: MemberLookups?
  public var userInfo: [CodingUserInfoKey: Any] { [:] }

  init(
    _ value: JSONValue, parameters: [String: String] = [:], isParameter: Bool = false, path: [any CodingKey] = [],
    lookups: MemberLookups? = nil
  ) {
    self.lookups = lookups
    self.value = value
    self.parameters = parameters
    self.isParameter = isParameter
    self.codingPath = path
  }

  public static func decode<Input: Decodable>(
    _ type: Input.Type, from value: JSONValue, parameters: [String: String] = [:]
  ) throws(InputError) -> Input {
    do { return try Input(from: InputDecoder(value, parameters: parameters)) } catch { throw input(error) }
  }

  public static func decode<Input: DirectInput>(
    _ type: Input.Type, from value: JSONValue, parameters: [String: String] = [:]
  ) throws(InputError) -> Input {
    do { return try Input(InputMembers(value, parameters: parameters)) } catch { throw input(error) }
  }

  /// Decodes an input, and returns besides the path of the first member that the type does not look up, by which it is
  /// unknown.
  public static func decodeNotingUnknown<Input: Decodable>(
    _ type: Input.Type, from value: JSONValue, parameters: [String: String] = [:]
  ) throws(InputError) -> (input: Input, unknown: String?) {
    let lookups = MemberLookups()
    // A type without members asks for no object.
    if MemoryLayout<Input>.size == 0, case .object(let members) = value { lookups.enter("", members) }
    do {
      let decoded = try Input(from: InputDecoder(value, parameters: parameters, lookups: lookups))
      return (decoded, lookups.unknown)
    } catch { throw input(error) }
  }

  private static func input(_ error: any Error) -> InputError {
    switch error {
    case let error as InputError: error
    case let error as DecodingError: input(error)
    default: InputError(path: "", text: "The input does not fit.")
    }
  }

  private static func input(_ error: DecodingError) -> InputError {
    switch error {
    case .keyNotFound(let key, let context):
      InputError(path: path(context.codingPath + [key]), text: "is missing")
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
      InputError(path: path(context.codingPath), text: context.debugDescription)
    @unknown default:
      InputError(path: "", text: "does not fit")
    }
  }

  static func path(_ keys: [any CodingKey]) -> String {
    var path = ""
    for key in keys {
      if let index = key.intValue {
        path += "[\(index)]"
      } else {
        if !path.isEmpty { path += "." }
        path += key.stringValue
      }
    }
    return path
  }

  func mismatch(_ wanted: String) -> InputError {
    InputError(path: Self.path(codingPath), text: "must be \(wanted), not \(value.typeName)")
  }

  public func container<Key: CodingKey>(keyedBy: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard case .object(let members) = value else { throw mismatch("an object") }
    lookups?.enter(Self.path(codingPath), members)
    return KeyedDecodingContainer(Keyed(decoder: self, members: members))
  }

  public func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard case .array(let values) = value else { throw mismatch("an array") }
    return Unkeyed(decoder: self, values: values)
  }

  public func singleValueContainer() throws -> any SingleValueDecodingContainer { Single(decoder: self) }

  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    // The common leaf types, without a container for each.
    if type == String.self, case .string(let text) = value, let text = text as? T { return text }
    return try T(from: self)
  }

  private struct Keyed<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: InputDecoder
    let members: [JSONValue.Member]
    var codingPath: [any CodingKey] { decoder.codingPath }
    var allKeys: [Key] { members.compactMap { Key(stringValue: $0.name) } }

    private func find(_ key: Key) -> JSONValue? {
      let name = key.stringValue
      if let lookups = decoder.lookups { lookups.note(name, in: InputDecoder.path(codingPath)) }
      if !decoder.parameters.isEmpty, let text = decoder.parameters[name] { return .string(text) }
      for member in members where member.name == name { return member.value }
      return nil
    }

    private func decoder(_ key: Key) throws -> InputDecoder {
      guard let value = find(key) else {
        throw InputError(path: InputDecoder.path(codingPath + [key]), text: "is missing")
      }
      return InputDecoder(
        value, isParameter: decoder.parameters[key.stringValue] != nil, path: codingPath + [key],
        lookups: decoder.lookups)
    }

    func contains(_ key: Key) -> Bool { find(key) != nil }
    /// Returns whether a member is null; an absent member is the same to `decodeIfPresent`.
    func decodeNil(forKey key: Key) throws -> Bool { find(key) == .null }
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try decoder(key).decode(type) }

    // Most members are text or absent, and a path is needed only for errors: these functions look a member up once and
    // create no decoder for it.

    func decode(_ type: String.Type, forKey key: Key) throws -> String {
      if case .string(let text) = find(key) { return text }
      return try decoder(key).decode(type)
    }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
      switch find(key) {
      case nil, .null?: nil
      case .string(let text)?: text
      case .bool?, .number?, .array?, .object?: try decoder(key).decode(type)
      }
    }
    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
      switch find(key) {
      case nil, .null?: nil
      case .bool?, .number?, .string?, .array?, .object?: try decoder(key).decode(type)
      }
    }

    func nestedContainer<Nested: CodingKey>(
      keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
      try decoder(key).container(keyedBy: type)
    }
    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
      try decoder(key).unkeyedContainer()
    }
    func superDecoder() throws -> any Decoder { decoder }
    func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }
  }

  private struct Unkeyed: UnkeyedDecodingContainer {
    let decoder: InputDecoder
    let values: [JSONValue]
    private(set) var currentIndex = 0
    var codingPath: [any CodingKey] { decoder.codingPath }
    var count: Int? { values.count }
    var isAtEnd: Bool { currentIndex >= values.count }

    init(decoder: InputDecoder, values: [JSONValue]) {
      self.decoder = decoder
      self.values = values
    }

    private mutating func next() throws -> InputDecoder {
      guard currentIndex < values.count else { throw decoder.mismatch("a longer array") }
      defer { currentIndex += 1 }
      let path = codingPath + (AnyKey(intValue: currentIndex).map { [$0] } ?? [])
      return InputDecoder(values[currentIndex], path: path, lookups: decoder.lookups)
    }

    mutating func decodeNil() throws -> Bool {
      guard !isAtEnd, values[currentIndex] == .null else { return false }
      currentIndex += 1
      return true
    }
    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try next().decode(type) }
    mutating func nestedContainer<Nested: CodingKey>(
      keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> { try next().container(keyedBy: type) }
    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { try next().unkeyedContainer() }
    mutating func superDecoder() throws -> any Decoder { try next() }
  }

  private struct Single: SingleValueDecodingContainer {
    let decoder: InputDecoder
    var codingPath: [any CodingKey] { decoder.codingPath }

    func decodeNil() -> Bool { decoder.value == .null }

    func decode(_ type: Bool.Type) throws -> Bool {
      switch decoder.value {
      case .bool(let value): return value
      case .string("true") where decoder.isParameter: return true
      case .string("false") where decoder.isParameter: return false
      case .null, .number, .string, .array, .object: throw decoder.mismatch("true or false")
      }
    }

    func decode(_ type: String.Type) throws -> String {
      guard case .string(let text) = decoder.value else { throw decoder.mismatch("a string") }
      return text
    }

    func decode(_ type: Double.Type) throws -> Double {
      guard case .number(let text) = decoder.value, let number = Double(text) else {
        throw decoder.mismatch("a number")
      }
      return number
    }

    func decode(_ type: Float.Type) throws -> Float { Float(try decode(Double.self)) }

    private func integer<T: FixedWidthInteger>() throws -> T {
      switch decoder.value {
      case .number(let text):
        guard let value = T(text) else {
          throw InputError(path: InputDecoder.path(codingPath), text: "must be an integer")
        }
        return value
      case .string(let text) where decoder.isParameter:
        guard let value = T(text) else {
          throw InputError(path: InputDecoder.path(codingPath), text: "must be an integer")
        }
        return value
      case .null, .bool, .string, .array, .object: throw decoder.mismatch("an integer")
      }
    }

    func decode(_ type: Int.Type) throws -> Int { try integer() }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
    func decode(_ type: UInt.Type) throws -> UInt { try integer() }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try T(from: decoder) }
  }
}

/// The members of the objects of an input, and which of them were looked up.
final class MemberLookups {
  private struct Object {
    let path: String
    let names: [String]
    var known: Set<String> = []
  }

  private var objects: [Object] = []
  private var indices: [String: Int] = [:]

  func enter(_ path: String, _ members: [JSONValue.Member]) {
    guard indices[path] == nil else { return }
    indices[path] = objects.count
    objects.append(Object(path: path, names: members.map(\.name)))
  }

  func note(_ name: String, in path: String) {
    if let index = indices[path] { objects[index].known.insert(name) }
  }

  /// The path of the first member that was not looked up.
  var unknown: String? {
    for object in objects {
      guard let name = object.names.first(where: { !object.known.contains($0) }) else { continue }
      return object.path.isEmpty ? name : object.path + "." + name
    }
    return nil
  }
}
