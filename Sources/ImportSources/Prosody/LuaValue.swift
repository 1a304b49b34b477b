import Basics

/// A value of Lua's data syntax.
enum LuaValue: Sendable, Equatable {
  case none
  case boolean(Bool)
  case number(Double)
  case text(String)
  case table(LuaTable)

  var text: String? {
    switch self {
    case .text(let text): text
    case .number(let number): number == number.rounded() && abs(number) < 1e15 ? "\(Int64(number))" : "\(number)"
    case .boolean(let flag): flag ? "1" : "0"
    case .none, .table: nil
    }
  }
  var number: Double? {
    switch self {
    case .number(let number): number
    case .text(let text): Double(text)
    case .none, .boolean, .table: nil
    }
  }
  var table: LuaTable? { if case .table(let table) = self { table } else { nil } }
}

/// A table: its list, and its other fields in their order.
struct LuaTable: Sendable, Equatable {
  var list: [LuaValue] = []
  /// The fields whose keys are texts.
  var fields: [(key: String, value: LuaValue)] = []
  /// The field of the key `false`, where Prosody keeps what belongs to the whole.
  var whole: [LuaValue] = []

  subscript(_ key: String) -> LuaValue? { fields.last { $0.key == key }?.value }

  /// A key that is there twice. Lua would take its last value; Prosody writes no such table.
  var repeatedKey: String? {
    if fields.count <= 16 {
      return fields.indices.first { index in fields[..<index].contains { $0.key == fields[index].key } }
        .map { fields[$0].key }
    }
    var seen: Set<String> = []
    return fields.first { !seen.insert($0.key).inserted }?.key
  }

  static func == (a: LuaTable, b: LuaTable) -> Bool {
    a.list == b.list && a.whole == b.whole && a.fields.map(\.key) == b.fields.map(\.key)
      && a.fields.map(\.value) == b.fields.map(\.value)
  }
}

/// The reason why a text is not Lua data, with its line from 1.
struct LuaFlaw: Error, Equatable {
  let line: Int
  let text: String
}

/// Parses the data that Prosody writes: `return { … };`, or `item({ … });` many times. Nothing is evaluated: anything but
/// tables of texts, numbers and truth values is a flaw.
struct LuaParser {
  private var text: ByteCursor
  private var values = 0

  init(_ bytes: [UInt8]) { text = ByteCursor(bytes, line: 1) }

  /// Parses `return VALUE;`.
  mutating func whole() throws(LuaFlaw) -> LuaValue {
    try skip()
    guard text.take("return") else { throw flaw("'return' is expected") }
    values = 0
    let value = try value(0)
    try skip()
    _ = text.take(";")
    try skip()
    if !text.isAtEnd { throw flaw("something follows the value") }
    return value
  }

  /// Parses the next `item(VALUE);` and returns its line; `nil` at the end. After a flaw it goes on with the next line
  /// that begins with an item.
  mutating func item() throws(LuaFlaw) -> (line: Int, value: LuaValue)? {
    try skip()
    guard !text.isAtEnd else { return nil }
    let (start, place) = (text.line, text.at)
    do throws(LuaFlaw) {
      guard text.take("item"), text.take("(") else { throw flaw("'item(' is expected") }
      values = 0
      let value = try value(0)
      try skip()
      guard text.take(")") else { throw flaw("')' is expected") }
      try skip()
      _ = text.take(";")
      return (start, value)
    } catch {
      (text.line, text.at) = (start, place)
      resume()
      throw error
    }
  }

  /// Goes to the next line that begins with an item. No text goes over the end of its line, so it is one.
  private mutating func resume() {
    while !text.isAtEnd {
      _ = text.takeWhile { $0 != 0x0A }
      if text.isAtEnd { return }
      text.at += 1
      text.line += 1
      if text.isAt("item(") { return }
    }
  }

  // MARK: Values

  private mutating func value(_ depth: Int) throws(LuaFlaw) -> LuaValue {
    try skip()
    values += 1
    guard values <= ImportLimits.luaValuesMax else { throw flaw("more than \(ImportLimits.luaValuesMax) values") }
    guard !text.isAtEnd else { throw flaw("it ends within a value") }
    switch text.byte {
    case UInt8(ascii: "{"): return .table(try table(depth))
    case UInt8(ascii: "\""), UInt8(ascii: "'"): return .text(try quoted())
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "("):
      return .number(try number())
    default:
      if takeWord("true") { return .boolean(true) }
      if takeWord("false") { return .boolean(false) }
      if takeWord("nil") { return .none }
      throw flaw("no value that is data")
    }
  }

  private mutating func table(_ depth: Int) throws(LuaFlaw) -> LuaTable {
    guard depth < ImportLimits.luaDepthMax else { throw flaw("tables are nested too deeply") }
    text.at += 1
    var table = LuaTable()
    while true {
      try skip()
      guard !text.isAtEnd else { throw flaw("it ends within a table") }
      if text.take("}") {
        if let key = table.repeatedKey { throw flaw("the key \(Line.beginning(of: key)) is there twice") }
        return table
      }
      if text.take("[") {
        let key = try value(depth + 1)
        try skip()
        guard text.take("]") else { throw flaw("']' is expected") }
        try skip()
        guard text.take("=") else { throw flaw("'=' is expected") }
        let value = try value(depth + 1)
        switch key {
        case .text(let key): table.fields.append((key, value))
        case .boolean(false) where table.whole.isEmpty: table.whole = [value]
        case .boolean(false): throw flaw("the key false is there twice")
        case .number(let number) where number == Double(table.list.count + 1): table.list.append(value)
        case .number: table.fields.append((key.text ?? "", value))
        case .boolean, .none, .table: throw flaw("a key that is neither text nor number")
        }
      } else if let name = takeName() {
        let value = try value(depth + 1)
        table.fields.append((name, value))
      } else {
        table.list.append(try value(depth + 1))
      }
      try skip()
      if !text.take(";"), !text.take(","), !text.isAtEnd, text.byte != UInt8(ascii: "}") {
        throw flaw("';' is expected")
      }
    }
  }

  /// Takes `NAME =`.
  private mutating func takeName() -> String? {
    let start = text.at
    let name = text.takeWhile(ByteCursor.isName)
    _ = text.takeWhile { $0 == 0x20 }
    guard let first = name.first, !(0x30...0x39).contains(first), text.take("="), text.byte != UInt8(ascii: "=") else {
      text.at = start
      return nil
    }
    return String(decoding: name, as: UTF8.self)
  }

  private mutating func number() throws(LuaFlaw) -> Double {
    // Prosody writes infinity and what is no number as divisions.
    for (word, number) in [("(1/0)", Double.infinity), ("(-1/0)", -Double.infinity), ("(0/0)", Double.nan)]
    where text.take(word) {
      return number
    }
    let digits = text.takeWhile { ByteCursor.isName($0) || "+-.".utf8.contains($0) }
    guard digits.count <= 64, let number = Double(String(decoding: digits, as: UTF8.self)) else {
      throw flaw("no number")
    }
    return number
  }

  private mutating func quoted() throws(LuaFlaw) -> String {
    let quote = text.byte
    text.at += 1
    var content: [UInt8] = []
    while true {
      content += text.takeWhile { $0 != quote && $0 != UInt8(ascii: "\\") && $0 != 0x0A }
      guard !text.isAtEnd else { throw flaw("it ends within a text") }
      let found = text.byte
      text.at += 1
      if found == quote { break }
      if found == 0x0A { throw flaw("a text goes over the end of its line") }
      let escaped = text.byte
      text.at += 1
      switch escaped {
      case UInt8(ascii: "a"): content.append(7)
      case UInt8(ascii: "\\"), UInt8(ascii: "\""), UInt8(ascii: "'"): content.append(escaped)
      case 0x0A:
        text.line += 1
        content.append(10)
      case 0x30...0x39:
        var code = Int(escaped) - 0x30
        for _ in 0..<2 where (0x30...0x39).contains(text.byte) {
          code = code * 10 + Int(text.byte) - 0x30
          text.at += 1
        }
        guard code < 256 else { throw flaw("no character \\\(code)") }
        content.append(UInt8(code))
      default:
        guard let control = ByteCursor.control(escaped) else { throw flaw("no escape") }
        content.append(control)
      }
    }
    guard let valid = String(validating: content, as: UTF8.self) else { throw flaw("a text that is not UTF-8") }
    return valid
  }

  // MARK: Pieces

  private mutating func skip() throws(LuaFlaw) {
    text.skipBlanks()
    while text.isAt("--") {
      _ = text.takeWhile { $0 != 0x0A }
      text.skipBlanks()
    }
  }

  private mutating func takeWord(_ word: String) -> Bool {
    let start = text.at
    guard text.take(word) else { return false }
    if !ByteCursor.isName(text.byte) { return true }
    text.at = start
    return false
  }

  private func flaw(_ reason: String) -> LuaFlaw { LuaFlaw(line: text.line, text: reason) }
}
