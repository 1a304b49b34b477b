/// A term of Erlang, as `io_lib` writes it.
enum ErlangTerm: Sendable, Equatable {
  case atom(String)
  case integer(Int64)
  case float(Double)
  /// A binary, or a text in quotes.
  case bytes([UInt8])
  case tuple([ErlangTerm])
  case list([ErlangTerm])

  var tuple: [ErlangTerm] { if case .tuple(let terms) = self { terms } else { [] } }
  var list: [ErlangTerm] { if case .list(let terms) = self { terms } else { [] } }
  var atom: String? { if case .atom(let name) = self { name } else { nil } }
  var integer: Int64? { if case .integer(let number) = self { number } else { nil } }
  /// The text of a binary; `nil` if it is none, or not UTF-8.
  var text: String? { if case .bytes(let bytes) = self { String(validating: bytes, as: UTF8.self) } else { nil } }
  /// The text of a binary, a number or an atom, as an option has it.
  var word: String? {
    switch self {
    case .atom(let name): name
    case .integer(let number): "\(number)"
    case .bytes: text
    case .float, .tuple, .list: nil
    }
  }
}

/// The reason why a text is no term, with its line within it, from 0.
struct ErlangFlaw: Error, Equatable {
  let line: Int
  let text: String
}

/// Parses one term with its full stop. Processes, functions and maps, which are no data of tables, are flaws.
struct ErlangParser {
  private let bytes: [UInt8]
  private var at = 0
  private var line = 0
  private var count = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func term() throws(ErlangFlaw) -> ErlangTerm {
    let term = try value(0)
    skip()
    guard take(".") else { throw flaw("a full stop is expected") }
    skip()
    guard at == bytes.count else { throw flaw("something follows the term") }
    return term
  }

  private mutating func value(_ depth: Int) throws(ErlangFlaw) -> ErlangTerm {
    skip()
    count += 1
    guard count <= ImportLimits.luaValuesMax else { throw flaw("more than \(ImportLimits.luaValuesMax) values") }
    guard depth < ImportLimits.luaDepthMax else { throw flaw("terms are nested too deeply") }
    guard at < bytes.count else { throw flaw("it ends within a term") }
    switch bytes[at] {
    case UInt8(ascii: "{"): return .tuple(try terms("{", "}", depth))
    case UInt8(ascii: "["): return .list(try terms("[", "]", depth))
    case UInt8(ascii: "<"): return .bytes(try binary())
    case UInt8(ascii: "\""): return .bytes(try texts())
    case UInt8(ascii: "'"):
      guard let name = String(validating: try quoted(), as: UTF8.self) else { throw flaw("an atom that is not UTF-8") }
      return .atom(name)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
    case UInt8(ascii: "a")...UInt8(ascii: "z"):
      let start = at
      while at < bytes.count, Self.isName(bytes[at]) { at += 1 }
      return .atom(String(decoding: bytes[start..<at], as: UTF8.self))
    default: throw flaw("no term that is data")
    }
  }

  private mutating func terms(_ start: String, _ end: String, _ depth: Int) throws(ErlangFlaw) -> [ErlangTerm] {
    _ = take(start)
    var terms: [ErlangTerm] = []
    skip()
    if take(end) { return terms }
    while true {
      terms.append(try value(depth + 1))
      skip()
      if take(end) { return terms }
      guard take(",") else { throw flaw("',' is expected") }
    }
  }

  private mutating func binary() throws(ErlangFlaw) -> [UInt8] {
    guard take("<<") else { throw flaw("no binary") }
    skip()
    var content: [UInt8] = []
    if at < bytes.count, bytes[at] == UInt8(ascii: "\"") {
      content = try texts()
      _ = take("/utf8")
      skip()
      guard take(">>") else { throw flaw("'>>' is expected") }
      return content
    }
    if take(">>") { return content }
    while true {
      skip()
      guard case .integer(let byte) = try number(), let byte = UInt8(exactly: byte) else { throw flaw("no byte") }
      content.append(byte)
      skip()
      if take(">>") { return content }
      guard take(",") else { throw flaw("',' is expected") }
    }
  }

  /// Long texts are written in pieces, one a line.
  private mutating func texts() throws(ErlangFlaw) -> [UInt8] {
    var content = try quoted()
    skip()
    while at < bytes.count, bytes[at] == UInt8(ascii: "\"") {
      content += try quoted()
      skip()
    }
    return content
  }

  private mutating func quoted() throws(ErlangFlaw) -> [UInt8] {
    let quote = bytes[at]
    at += 1
    var content: [UInt8] = []
    while at < bytes.count, bytes[at] != quote {
      let byte = bytes[at]
      at += 1
      guard byte == UInt8(ascii: "\\"), at < bytes.count else {
        content.append(byte)
        continue
      }
      let escaped = bytes[at]
      at += 1
      switch escaped {
      case UInt8(ascii: "b"): content.append(8)
      case UInt8(ascii: "d"): content.append(127)
      case UInt8(ascii: "e"): content.append(27)
      case UInt8(ascii: "f"): content.append(12)
      case UInt8(ascii: "n"): content.append(10)
      case UInt8(ascii: "r"): content.append(13)
      case UInt8(ascii: "s"): content.append(32)
      case UInt8(ascii: "t"): content.append(9)
      case UInt8(ascii: "v"): content.append(11)
      case UInt8(ascii: "0")...UInt8(ascii: "7"):
        var code = Int(escaped) - 0x30
        for _ in 0..<2 where at < bytes.count && (0x30...0x37).contains(bytes[at]) {
          code = code * 8 + Int(bytes[at]) - 0x30
          at += 1
        }
        content.append(UInt8(truncatingIfNeeded: code))
      default: content.append(escaped)
      }
    }
    guard at < bytes.count else { throw flaw("it ends within a text") }
    at += 1
    return content
  }

  private mutating func number() throws(ErlangFlaw) -> ErlangTerm {
    let start = at
    if at < bytes.count, bytes[at] == UInt8(ascii: "-") { at += 1 }
    while at < bytes.count,
      Self.isName(bytes[at])
        || bytes[at] == UInt8(ascii: ".") && at + 1 < bytes.count
          && (0x30...0x39).contains(bytes[at + 1])
    { at += 1 }
    let text = String(decoding: bytes[start..<min(at, start + 64)], as: UTF8.self)
    if let number = Int64(text) { return .integer(number) }
    guard let number = Double(text) else { throw flaw("no number") }
    return .float(number)
  }

  private static func isName(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == 0x5F
      || byte == 0x40
  }

  private mutating func skip() {
    while at < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[at]) {
      if bytes[at] == 0x0A { line += 1 }
      at += 1
    }
  }

  private mutating func take(_ word: String) -> Bool {
    guard bytes[at...].starts(with: word.utf8) else { return false }
    at += word.utf8.count
    return true
  }

  private func flaw(_ text: String) -> ErlangFlaw { ErlangFlaw(line: line, text: text) }
}
