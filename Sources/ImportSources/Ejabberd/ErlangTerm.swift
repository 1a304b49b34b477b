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
  private var text: ByteCursor
  private var count = 0

  init(_ bytes: [UInt8]) { text = ByteCursor(bytes, line: 0) }

  mutating func term() throws(ErlangFlaw) -> ErlangTerm {
    let term = try value(0)
    text.skipBlanks()
    guard text.take(".") else { throw flaw("a full stop is expected") }
    text.skipBlanks()
    guard text.isAtEnd else { throw flaw("something follows the term") }
    return term
  }

  private mutating func value(_ depth: Int) throws(ErlangFlaw) -> ErlangTerm {
    text.skipBlanks()
    count += 1
    guard count <= ImportLimits.luaValuesMax else { throw flaw("more than \(ImportLimits.luaValuesMax) values") }
    guard depth < ImportLimits.luaDepthMax else { throw flaw("terms are nested too deeply") }
    guard !text.isAtEnd else { throw flaw("it ends within a term") }
    switch text.byte {
    case UInt8(ascii: "{"): return .tuple(try terms("{", "}", depth))
    case UInt8(ascii: "["): return .list(try terms("[", "]", depth))
    case UInt8(ascii: "<"): return .bytes(try binary())
    case UInt8(ascii: "\""): return .bytes(try texts())
    case UInt8(ascii: "'"):
      guard let name = String(validating: try quoted(), as: UTF8.self) else { throw flaw("an atom that is not UTF-8") }
      return .atom(name)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
    case UInt8(ascii: "a")...UInt8(ascii: "z"):
      return .atom(String(decoding: text.takeWhile(Self.isName), as: UTF8.self))
    default: throw flaw("no term that is data")
    }
  }

  private mutating func terms(_ start: String, _ end: String, _ depth: Int) throws(ErlangFlaw) -> [ErlangTerm] {
    _ = text.take(start)
    var terms: [ErlangTerm] = []
    text.skipBlanks()
    if text.take(end) { return terms }
    while true {
      terms.append(try value(depth + 1))
      text.skipBlanks()
      if text.take(end) { return terms }
      guard text.take(",") else { throw flaw("',' is expected") }
    }
  }

  private mutating func binary() throws(ErlangFlaw) -> [UInt8] {
    guard text.take("<<") else { throw flaw("no binary") }
    text.skipBlanks()
    var content: [UInt8] = []
    if text.byte == UInt8(ascii: "\"") {
      content = try texts()
      _ = text.take("/utf8")
      text.skipBlanks()
      guard text.take(">>") else { throw flaw("'>>' is expected") }
      return content
    }
    if text.take(">>") { return content }
    while true {
      text.skipBlanks()
      guard case .integer(let byte) = try number(), let byte = UInt8(exactly: byte) else { throw flaw("no byte") }
      content.append(byte)
      text.skipBlanks()
      if text.take(">>") { return content }
      guard text.take(",") else { throw flaw("',' is expected") }
    }
  }

  /// Long texts are written in pieces, one a line.
  private mutating func texts() throws(ErlangFlaw) -> [UInt8] {
    var content = try quoted()
    text.skipBlanks()
    while text.byte == UInt8(ascii: "\"") {
      content += try quoted()
      text.skipBlanks()
    }
    return content
  }

  private mutating func quoted() throws(ErlangFlaw) -> [UInt8] {
    let quote = text.byte
    text.at += 1
    var content: [UInt8] = []
    while true {
      content += text.takeWhile { $0 != quote && $0 != UInt8(ascii: "\\") }
      guard !text.isAtEnd else { throw flaw("it ends within a text") }
      let isEnd = text.byte == quote
      text.at += 1
      if isEnd { return content }
      let escaped = text.byte
      text.at += 1
      switch escaped {
      case UInt8(ascii: "d"): content.append(127)
      case UInt8(ascii: "e"): content.append(27)
      case UInt8(ascii: "s"): content.append(32)
      case UInt8(ascii: "0")...UInt8(ascii: "7"):
        var code = Int(escaped) - 0x30
        for _ in 0..<2 where (0x30...0x37).contains(text.byte) {
          code = code * 8 + Int(text.byte) - 0x30
          text.at += 1
        }
        content.append(UInt8(truncatingIfNeeded: code))
      default: content.append(ByteCursor.control(escaped) ?? escaped)
      }
    }
  }

  private mutating func number() throws(ErlangFlaw) -> ErlangTerm {
    let start = text.at
    _ = text.take("-")
    while true {
      _ = text.takeWhile(Self.isName)
      let next = text.at + 1
      guard text.byte == UInt8(ascii: "."), next < text.bytes.count, (0x30...0x39).contains(text.bytes[next]) else {
        break
      }
      text.at += 1
    }
    let digits = String(decoding: text.bytes[start..<min(text.at, start + 64)], as: UTF8.self)
    if let number = Int64(digits) { return .integer(number) }
    guard let number = Double(digits) else { throw flaw("no number") }
    return .float(number)
  }

  private static func isName(_ byte: UInt8) -> Bool { ByteCursor.isName(byte) || byte == UInt8(ascii: "@") }

  private func flaw(_ reason: String) -> ErlangFlaw { ErlangFlaw(line: text.line, text: reason) }
}
