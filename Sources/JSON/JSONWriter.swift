public import Basics

/// A value that writes itself as JSON, several times faster than through `Encoder`.
public protocol JSONWritable {
  func write(to writer: inout JSONWriter)
}

/// A value that writes itself as an object.
public protocol JSONObjectWritable: JSONWritable {
  /// Writes the members, between the braces.
  func writeMembers(to writer: inout JSONWriter)
}

extension JSONObjectWritable {
  @inlinable
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writeMembers(to: &writer)
    writer.endObject()
  }
}

/// Appends JSON text to bytes. It writes the commas; the caller is responsible for the structure: every `begin` has its
/// `end`, members are in objects.
public struct JSONWriter: Sendable {
  public private(set) var bytes: [UInt8]
  /// Whether the next member or element needs a comma before it.
  private var needsComma = false

  public init(capacity: Int = 256) {
    bytes = []
    bytes.reserveCapacity(capacity)
  }

  public var text: String { String(decoding: bytes, as: UTF8.self) }

  // MARK: Structure

  public mutating func beginObject() {
    comma()
    bytes.append(UInt8(ascii: "{"))
    needsComma = false
  }

  public mutating func endObject() {
    bytes.append(UInt8(ascii: "}"))
    needsComma = true
  }

  public mutating func beginArray() {
    comma()
    bytes.append(UInt8(ascii: "["))
    needsComma = false
  }

  public mutating func endArray() {
    bytes.append(UInt8(ascii: "]"))
    needsComma = true
  }

  /// Writes a member's name, which must need no escaping; its value comes next.
  public mutating func name(_ name: StaticString) {
    comma()
    bytes.append(UInt8(ascii: "\""))
    name.withUTF8Buffer { bytes.append(contentsOf: $0) }
    bytes.append(UInt8(ascii: "\""))
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  /// Writes a member's name that may be any text.
  public mutating func name(text name: String) {
    comma()
    quoted(name)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  private mutating func comma() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
  }

  // MARK: Values

  public mutating func string(_ text: String) {
    comma()
    quoted(text)
    needsComma = true
  }

  public mutating func string(_ text: StaticString) {
    comma()
    bytes.append(UInt8(ascii: "\""))
    text.withUTF8Buffer { bytes.append(contentsOf: $0) }
    bytes.append(UInt8(ascii: "\""))
    needsComma = true
  }

  public mutating func integer(_ value: Int64) {
    comma()
    bytes.append(contentsOf: String(value).utf8)
    needsComma = true
  }

  public mutating func bool(_ value: Bool) {
    raw(value ? "true" : "false")
  }

  public mutating func null() { raw("null") }

  /// Writes valid JSON made earlier.
  public mutating func raw(_ json: String) {
    comma()
    bytes.append(contentsOf: json.utf8)
    needsComma = true
  }

  public mutating func raw(_ json: ArraySlice<UInt8>) {
    comma()
    bytes.append(contentsOf: json)
    needsComma = true
  }

  /// Writes the members of an object made earlier, within the current object.
  public mutating func members(of object: RawObject) {
    if object.isEmpty { return }
    comma()
    bytes.append(contentsOf: object.text.utf8.dropFirst().dropLast())
    needsComma = true
  }

  public mutating func time(_ time: Timestamp) {
    comma()
    bytes.append(UInt8(ascii: "\""))
    time.withBytes { bytes.append(contentsOf: $0) }
    bytes.append(UInt8(ascii: "\""))
    needsComma = true
  }

  public mutating func value(_ value: JSONValue) {
    switch value {
    case .null: null()
    case .bool(let bool): self.bool(bool)
    case .number(let text): raw(text)
    case .string(let text): string(text)
    case .array(let values):
      beginArray()
      for value in values { self.value(value) }
      endArray()
    case .object(let members):
      beginObject()
      for member in members {
        name(text: member.name)
        self.value(member.value)
      }
      endObject()
    }
  }

  // MARK: Members; an optional that is nil is left out

  public mutating func member(_ name: StaticString, _ text: String?) {
    guard let text else { return }
    self.name(name)
    string(text)
  }

  public mutating func member(_ name: StaticString, _ value: Int64?) {
    guard let value else { return }
    self.name(name)
    integer(value)
  }

  public mutating func member(_ name: StaticString, _ value: Int?) { member(name, value.map { Int64($0) }) }

  /// Writes a member whose value is a word.
  @inlinable
  public mutating func member(_ name: StaticString, _ word: (some RawRepresentable<String>)?) {
    member(name, word?.rawValue)
  }

  public mutating func member(_ name: StaticString, _ value: Bool?) {
    guard let value else { return }
    self.name(name)
    bool(value)
  }

  public mutating func member(_ name: StaticString, _ time: Timestamp?) {
    guard let time else { return }
    self.name(name)
    self.time(time)
  }

  @inlinable
  public mutating func member(_ name: StaticString, _ value: (some JSONWritable)?) {
    guard let value else { return }
    self.name(name)
    value.write(to: &self)
  }

  public mutating func member(_ name: StaticString, _ values: [String]?) {
    guard let values else { return }
    self.name(name)
    beginArray()
    for value in values { string(value) }
    endArray()
  }

  @inlinable
  public mutating func member(_ name: StaticString, _ values: [some JSONWritable]?) {
    guard let values else { return }
    self.name(name)
    beginArray()
    for value in values { value.write(to: &self) }
    endArray()
  }

  // MARK: Strings

  private mutating func quoted(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    var text = text
    text.withUTF8 { utf8 in
      // Nearly all strings have nothing to escape, which are control characters, `"` and `\`: one scan, one copy.
      if utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x22 && $0 != 0x5c }) {
        bytes.append(contentsOf: utf8)
      } else {
        for byte in utf8 { escape(byte) }
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func escape(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"):
      bytes.append(UInt8(ascii: "\\"))
      bytes.append(byte)
    case 0x0a: bytes.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "n")])
    case 0x0d: bytes.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "r")])
    case 0x09: bytes.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "t")])
    case 0x00..<0x20:
      bytes.append(contentsOf: "\\u00".utf8)
      bytes.append(Hex.digit(byte >> 4))
      bytes.append(Hex.digit(byte & 15))
    default: bytes.append(byte)
    }
  }
}
