extension JSONValue {
  /// Encodes a value, for rare requests, answers and files. Types that are written for every message conform to
  /// `JSONWritable`.
  public init(encoding value: some Encodable) throws {
    let node = Node()
    try value.encode(to: ValueEncoder(node: node, codingPath: []))
    self = node.json
  }

  /// Returns the same value with the members of all objects in the order of their names, so that equal values have
  /// equal texts.
  public func sorted() -> JSONValue {
    switch self {
    case .array(let values): .array(values.map { $0.sorted() })
    case .object(let members):
      .object(members.map { Member($0.name, $0.value.sorted()) }.sorted { $0.name < $1.name })
    case .null, .bool, .number, .string: self
    }
  }

  /// The JSON text for people: a line for each member and element, indented by two spaces.
  public var prettyText: String { pretty(indent: "") }

  private func pretty(indent: String) -> String {
    let lines: [String]
    switch self {
    case .array(let values) where !values.isEmpty: lines = values.map { $0.pretty(indent: indent + "  ") }
    case .object(let members) where !members.isEmpty:
      lines = members.map { JSONValue.string($0.name).text + " : " + $0.value.pretty(indent: indent + "  ") }
    case .null, .bool, .number, .string, .array, .object: return text
    }
    let (open, close) = if case .array = self { ("[", "]") } else { ("{", "}") }
    return open + "\n" + lines.map { indent + "  " + $0 }.joined(separator: ",\n") + "\n" + indent + close
  }
}

/// A value that is being encoded, whose containers an `Encodable` fills in any order.
final class Node {
  enum Kind { case value(JSONValue), object, array }
  var kind = Kind.object
  private var members: [(name: String, node: Node)] = []
  private var elements: [Node] = []

  var json: JSONValue {
    switch kind {
    case .value(let value): value
    case .object: .object(members.map { .init($0.name, $0.node.json) })
    case .array: .array(elements.map(\.json))
    }
  }

  func member(_ name: String) -> Node {
    let node = Node()
    members.append((name, node))
    return node
  }

  func element() -> Node {
    let node = Node()
    elements.append(node)
    return node
  }
}

/// The encoder of `JSONValue.init(encoding:)`, the only one that JSON values accept.
struct ValueEncoder: Encoder {
  let node: Node
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(Keyed(node: node, codingPath: codingPath))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    node.kind = .array
    return Unkeyed(node: node, codingPath: codingPath)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { Single(node: node, codingPath: codingPath) }

  private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let node: Node
    let codingPath: [any CodingKey]

    private func encoder(_ key: any CodingKey) -> ValueEncoder {
      ValueEncoder(node: node.member(key.stringValue), codingPath: codingPath + [key])
    }
    mutating func encodeNil(forKey key: Key) { encoder(key).node.kind = .value(.null) }
    mutating func encode<T: Encodable>(_ value: T, forKey key: Key) throws { try value.encode(to: encoder(key)) }
    mutating func nestedContainer<Nested: CodingKey>(
      keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> { encoder(key).container(keyedBy: type) }
    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
      encoder(key).unkeyedContainer()
    }
    mutating func superEncoder() -> any Encoder { encoder(AnyKey("super")) }
    mutating func superEncoder(forKey key: Key) -> any Encoder { encoder(key) }
  }

  private struct Unkeyed: UnkeyedEncodingContainer {
    let node: Node
    let codingPath: [any CodingKey]
    private(set) var count = 0

    init(node: Node, codingPath: [any CodingKey]) {
      self.node = node
      self.codingPath = codingPath
    }

    private mutating func next() -> ValueEncoder {
      defer { count += 1 }
      return ValueEncoder(node: node.element(), codingPath: codingPath + (AnyKey(intValue: count).map { [$0] } ?? []))
    }
    mutating func encodeNil() { next().node.kind = .value(.null) }
    mutating func encode<T: Encodable>(_ value: T) throws { try value.encode(to: next()) }
    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
      next().container(keyedBy: type)
    }
    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { next().unkeyedContainer() }
    mutating func superEncoder() -> any Encoder { next() }
  }

  private struct Single: SingleValueEncodingContainer {
    let node: Node
    let codingPath: [any CodingKey]

    private func number(_ text: String) { node.kind = .value(.number(text)) }
    mutating func encodeNil() { node.kind = .value(.null) }
    mutating func encode(_ value: Bool) { node.kind = .value(.bool(value)) }
    mutating func encode(_ value: String) { node.kind = .value(.string(value)) }
    mutating func encode(_ value: Double) throws {
      guard value.isFinite else {
        throw EncodingError.invalidValue(value, .init(codingPath: codingPath, debugDescription: "is no number of JSON"))
      }
      node.kind = .value(JSONValue(value))
    }
    mutating func encode(_ value: Float) throws { try encode(Double(value)) }
    mutating func encode(_ value: Int) { number("\(value)") }
    mutating func encode(_ value: Int8) { number("\(value)") }
    mutating func encode(_ value: Int16) { number("\(value)") }
    mutating func encode(_ value: Int32) { number("\(value)") }
    mutating func encode(_ value: Int64) { number("\(value)") }
    mutating func encode(_ value: UInt) { number("\(value)") }
    mutating func encode(_ value: UInt8) { number("\(value)") }
    mutating func encode(_ value: UInt16) { number("\(value)") }
    mutating func encode(_ value: UInt32) { number("\(value)") }
    mutating func encode(_ value: UInt64) { number("\(value)") }
    mutating func encode<T: Encodable>(_ value: T) throws {
      try value.encode(to: ValueEncoder(node: node, codingPath: codingPath))
    }
  }
}
