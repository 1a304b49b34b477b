import Basics

/// The reason why a text is invalid JSON.
public struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The offset in bytes from the beginning of the text.
  public let offset: Int
  public let reason: String
  /// The beginning of the name that an object has twice, if that is the reason.
  public let member: String?
  public var description: String { "\(reason) (at byte \(offset))" }
}

extension JSONValue {
  /// The greatest depth of nesting; deeper input is refused, so that no input can exhaust a thread's stack.
  public static let depthMax = 32

  /// Parses one complete JSON text (RFC 8259). Stricter than the RFC: names within an object must differ (8259 4 leaves
  /// their meaning open), strings must be valid Unicode (8259 8.2).
  ///
  /// - Parameter valuesMax: The maximum number of values, those within others included.
  public init(parsing bytes: UnsafeRawBufferPointer, valuesMax: Int = .max) throws(JSONError) {
    var parser = JSONParser(bytes, valuesMax: valuesMax)
    parser.skipSpace()
    self = try parser.value(depth: 0)
    parser.skipSpace()
    if parser.offset < bytes.count { throw parser.error("There is something behind the JSON value") }
  }

  public init(parsing text: String) throws(JSONError) {
    var text = text
    let result: Result<JSONValue, JSONError> = text.withUTF8 { bytes in
      do throws(JSONError) {
        return .success(try JSONValue(parsing: UnsafeRawBufferPointer(bytes)))
      } catch { return .failure(error) }
    }
    self = try result.get()
  }

  public init(parsing bytes: [UInt8], valuesMax: Int = .max) throws(JSONError) {
    let result: Result<JSONValue, JSONError> = bytes.withUnsafeBytes { bytes in
      do throws(JSONError) { return .success(try JSONValue(parsing: bytes, valuesMax: valuesMax)) } catch {
        return .failure(error)
      }
    }
    self = try result.get()
  }
}

/// A recursive descent parser over one contiguous text. Every read is bounds-checked by `peek`; no number from the
/// input is used as an index.
private struct JSONParser {
  private let bytes: UnsafeRawBufferPointer
  private(set) var offset = 0
  private let valuesMax: Int
  private var valueCount = 0

  init(_ bytes: UnsafeRawBufferPointer, valuesMax: Int) {
    self.bytes = bytes
    self.valuesMax = valuesMax
  }

  func error(_ reason: String, member: String? = nil) -> JSONError {
    JSONError(offset: offset, reason: reason, member: member)
  }

  private var peek: UInt8? { offset < bytes.count ? bytes[offset] : nil }

  mutating func skipSpace() {
    while let byte = peek, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { offset += 1 }
  }

  mutating func value(depth: Int) throws(JSONError) -> JSONValue {
    guard depth <= JSONValue.depthMax else {
      throw error("The JSON is nested deeper than \(JSONValue.depthMax) levels")
    }
    valueCount += 1
    guard valueCount <= valuesMax else { throw error("The JSON has more than \(valuesMax) values") }
    guard let byte = peek else { throw error("The JSON ends too early") }
    switch byte {
    case UInt8(ascii: "{"): return try object(depth: depth)
    case UInt8(ascii: "["): return try array(depth: depth)
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try literal("true", .bool(true))
    case UInt8(ascii: "f"): return try literal("false", .bool(false))
    case UInt8(ascii: "n"): return try literal("null", .null)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try number())
    default: throw error("A JSON value cannot begin with this character")
    }
  }

  private mutating func literal(_ word: StaticString, _ value: JSONValue) throws(JSONError) -> JSONValue {
    let matches = word.withUTF8Buffer { letters in
      bytes.count - offset >= letters.count && zip(letters, bytes[offset...]).allSatisfy { $0 == $1 }
    }
    guard matches else { throw error("A JSON value cannot begin with this character") }
    offset += word.utf8CodeUnitCount
    return value
  }

  private mutating func object(depth: Int) throws(JSONError) -> JSONValue {
    offset += 1
    var members: [JSONValue.Member] = []
    skipSpace()
    if peek == UInt8(ascii: "}") {
      offset += 1
      return .object(members)
    }
    members.reserveCapacity(4)
    var names: Set<String> = []
    while true {
      skipSpace()
      guard peek == UInt8(ascii: "\"") else { throw error("A member's name in quotes was expected") }
      let name = try string()
      // A scan for few members, a set for many, so that the cost stays linear.
      let isRepeated: Bool
      if members.count < 16 {
        isRepeated = members.contains { $0.name == name }
      } else {
        if names.isEmpty { names = Set(members.map(\.name)) }
        isRepeated = !names.insert(name).inserted
      }
      if isRepeated {
        let member = Line.beginning(of: name)
        throw error("The member \"\(Line.safe(member))\" is there twice", member: member)
      }
      skipSpace()
      guard peek == UInt8(ascii: ":") else { throw error("A colon was expected") }
      offset += 1
      skipSpace()
      members.append(JSONValue.Member(name, try value(depth: depth + 1)))
      skipSpace()
      switch peek {
      case UInt8(ascii: ","): offset += 1
      case UInt8(ascii: "}"):
        offset += 1
        return .object(members)
      default: throw error("A comma or the end of the object was expected")
      }
    }
  }

  private mutating func array(depth: Int) throws(JSONError) -> JSONValue {
    offset += 1
    var values: [JSONValue] = []
    skipSpace()
    if peek == UInt8(ascii: "]") {
      offset += 1
      return .array(values)
    }
    while true {
      skipSpace()
      values.append(try value(depth: depth + 1))
      skipSpace()
      switch peek {
      case UInt8(ascii: ","): offset += 1
      case UInt8(ascii: "]"):
        offset += 1
        return .array(values)
      default: throw error("A comma or the end of the array was expected")
      }
    }
  }

  /// Parses a number (RFC 8259 6).
  private mutating func number() throws(JSONError) -> String {
    let start = offset
    if peek == UInt8(ascii: "-") { offset += 1 }
    if peek == UInt8(ascii: "0") {
      offset += 1
    } else if digits() == 0 {
      throw error("A digit was expected")
    }
    if peek == UInt8(ascii: ".") {
      offset += 1
      if digits() == 0 { throw error("A digit was expected") }
    }
    if peek == UInt8(ascii: "e") || peek == UInt8(ascii: "E") {
      offset += 1
      if peek == UInt8(ascii: "+") || peek == UInt8(ascii: "-") { offset += 1 }
      if digits() == 0 { throw error("A digit was expected") }
    }
    return String(decoding: bytes[start..<offset], as: UTF8.self)
  }

  private mutating func digits() -> Int {
    let start = offset
    while let byte = peek, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { offset += 1 }
    return offset - start
  }

  private mutating func string() throws(JSONError) -> String {
    offset += 1
    let start = offset
    // All bytes combined are less than 0x80 for an ASCII text, which needs no validation.
    var bits: UInt8 = 0
    while offset < bytes.count {
      let byte = bytes[offset]
      switch byte {
      case UInt8(ascii: "\""):
        let raw = UnsafeRawBufferPointer(rebasing: bytes[start..<offset])
        let text = bits < 0x80 ? String(decoding: raw, as: UTF8.self) : String(validating: raw, as: UTF8.self)
        guard let text else { throw error("The string is not valid UTF-8") }
        offset += 1
        return text
      case UInt8(ascii: "\\"): return try escapedString(from: start)
      case 0x00..<0x20: throw error("A control character in a string must be escaped")
      default:
        bits |= byte
        offset += 1
      }
    }
    throw error("The string does not end")
  }

  /// Parses the rest of a string from its first backslash on.
  private mutating func escapedString(from start: Int) throws(JSONError) -> String {
    var text = Array(bytes[start..<offset])
    while let byte = peek {
      offset += 1
      switch byte {
      case UInt8(ascii: "\""):
        guard let string = String(validating: text, as: UTF8.self) else {
          throw error("The string is not valid UTF-8")
        }
        return string
      case UInt8(ascii: "\\"):
        guard let letter = peek else { throw error("The string does not end") }
        offset += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(letter)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0c)
        case UInt8(ascii: "n"): text.append(0x0a)
        case UInt8(ascii: "r"): text.append(0x0d)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text.append(contentsOf: Array(Character(try escapedScalar()).utf8))
        default: throw error("There is no such escape in JSON")
        }
      case 0x00..<0x20: throw error("A control character in a string must be escaped")
      default: text.append(byte)
      }
    }
    throw error("The string does not end")
  }

  private mutating func escapedScalar() throws(JSONError) -> Unicode.Scalar {
    let unit = try hexUnit()
    if let scalar = Unicode.Scalar(unit) { return scalar }
    guard (0xd800..<0xdc00).contains(unit), peek == UInt8(ascii: "\\") else { throw error("Half a surrogate pair") }
    offset += 1
    guard peek == UInt8(ascii: "u") else { throw error("Half a surrogate pair") }
    offset += 1
    let low = try hexUnit()
    guard (0xdc00..<0xe000).contains(low),
      let scalar = Unicode.Scalar(0x10000 + (UInt32(unit - 0xd800) << 10) + UInt32(low - 0xdc00))
    else { throw error("Half a surrogate pair") }
    return scalar
  }

  private mutating func hexUnit() throws(JSONError) -> UInt16 {
    var unit: UInt16 = 0
    for _ in 0..<4 {
      guard let byte = peek else { throw error("The string does not end") }
      guard let digit = Hex.value(ofDigit: byte) else { throw error("Four hexadecimal digits were expected") }
      unit = unit << 4 | UInt16(digit)
      offset += 1
    }
    return unit
  }
}
