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
    default: nil
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
  private let bytes: [UInt8]
  private var at = 0
  private var line = 1
  private var values = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The share of the text that was read.
  var fraction: Double { bytes.isEmpty ? 1 : Double(at) / Double(bytes.count) }

  /// Parses `return VALUE;`.
  mutating func whole() throws(LuaFlaw) -> LuaValue {
    try skip()
    guard take("return") else { throw flaw("'return' is expected") }
    values = 0
    let value = try value(0)
    try skip()
    _ = take(";")
    try skip()
    if at < bytes.count { throw flaw("something follows the value") }
    return value
  }

  /// Parses the next `item(VALUE);` and returns its line; `nil` at the end. After a flaw it goes on with the next line
  /// that begins with an item.
  mutating func item() throws(LuaFlaw) -> (line: Int, value: LuaValue)? {
    try skip()
    guard at < bytes.count else { return nil }
    let (start, place) = (line, at)
    do throws(LuaFlaw) {
      guard take("item"), take("(") else { throw flaw("'item(' is expected") }
      values = 0
      let value = try value(0)
      try skip()
      guard take(")") else { throw flaw("')' is expected") }
      try skip()
      _ = take(";")
      return (start, value)
    } catch {
      (line, at) = (start, place)
      resume()
      throw error
    }
  }

  /// Goes to the next line that begins with an item. No text goes over the end of its line, so it is one.
  private mutating func resume() {
    while at < bytes.count {
      let isLineEnd = bytes[at] == 0x0A
      at += 1
      guard isLineEnd else { continue }
      line += 1
      if bytes[at...].starts(with: "item(".utf8) { return }
    }
  }

  // MARK: Values

  private mutating func value(_ depth: Int) throws(LuaFlaw) -> LuaValue {
    try skip()
    values += 1
    guard values <= ImportLimits.luaValuesMax else { throw flaw("more than \(ImportLimits.luaValuesMax) values") }
    guard at < bytes.count else { throw flaw("it ends within a value") }
    switch bytes[at] {
    case UInt8(ascii: "{"): return .table(try table(depth))
    case UInt8(ascii: "\""), UInt8(ascii: "'"): return .text(try text())
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
    at += 1
    var table = LuaTable()
    while true {
      try skip()
      guard at < bytes.count else { throw flaw("it ends within a table") }
      if take("}") { return table }
      if take("[") {
        let key = try value(depth + 1)
        try skip()
        guard take("]") else { throw flaw("']' is expected") }
        try skip()
        guard take("=") else { throw flaw("'=' is expected") }
        let value = try value(depth + 1)
        switch key {
        case .text(let key): table.fields.append((key, value))
        case .boolean(false): table.whole = [value]
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
      if !take(";"), !take(","), at < bytes.count, bytes[at] != UInt8(ascii: "}") {
        throw flaw("';' is expected")
      }
    }
  }

  /// Takes `NAME =`.
  private mutating func takeName() -> String? {
    var end = at
    while end < bytes.count, Self.isName(bytes[end]) { end += 1 }
    guard end > at, !(0x30...0x39).contains(bytes[at]) else { return nil }
    var next = end
    while next < bytes.count, bytes[next] == 0x20 { next += 1 }
    guard next < bytes.count, bytes[next] == UInt8(ascii: "="), next + 1 < bytes.count,
      bytes[next + 1] != UInt8(ascii: "=")
    else { return nil }
    let name = String(decoding: bytes[at..<end], as: UTF8.self)
    at = next + 1
    return name
  }

  private mutating func number() throws(LuaFlaw) -> Double {
    // Prosody writes infinity and what is no number as divisions.
    for (word, number) in [("(1/0)", Double.infinity), ("(-1/0)", -Double.infinity), ("(0/0)", Double.nan)]
    where take(word) {
      return number
    }
    var end = at
    while end < bytes.count,
      Self.isName(bytes[end]) || bytes[end] == UInt8(ascii: "+") || bytes[end] == UInt8(ascii: "-")
        || bytes[end] == UInt8(ascii: ".")
    { end += 1 }
    guard end - at <= 64, let number = Double(String(decoding: bytes[at..<end], as: UTF8.self)) else {
      throw flaw("no number")
    }
    at = end
    return number
  }

  private mutating func text() throws(LuaFlaw) -> String {
    let quote = bytes[at]
    at += 1
    var text: [UInt8] = []
    while at < bytes.count, bytes[at] != quote {
      let byte = bytes[at]
      at += 1
      if byte == 0x0A { throw flaw("a text goes over the end of its line") }
      guard byte == UInt8(ascii: "\\") else {
        text.append(byte)
        continue
      }
      guard at < bytes.count else { break }
      let escaped = bytes[at]
      at += 1
      switch escaped {
      case UInt8(ascii: "a"): text.append(7)
      case UInt8(ascii: "b"): text.append(8)
      case UInt8(ascii: "f"): text.append(12)
      case UInt8(ascii: "n"): text.append(10)
      case UInt8(ascii: "r"): text.append(13)
      case UInt8(ascii: "t"): text.append(9)
      case UInt8(ascii: "v"): text.append(11)
      case UInt8(ascii: "\\"), UInt8(ascii: "\""), UInt8(ascii: "'"): text.append(escaped)
      case 0x0A:
        line += 1
        text.append(10)
      case 0x30...0x39:
        var code = Int(escaped) - 0x30
        for _ in 0..<2 where at < bytes.count && (0x30...0x39).contains(bytes[at]) {
          code = code * 10 + Int(bytes[at]) - 0x30
          at += 1
        }
        guard code < 256 else { throw flaw("no character \\\(code)") }
        text.append(UInt8(code))
      default: throw flaw("no escape")
      }
    }
    guard at < bytes.count else { throw flaw("it ends within a text") }
    at += 1
    guard let valid = String(validating: text, as: UTF8.self) else { throw flaw("a text that is not UTF-8") }
    return valid
  }

  // MARK: Pieces

  private static func isName(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == 0x5F
  }

  private mutating func skip() throws(LuaFlaw) {
    while at < bytes.count {
      switch bytes[at] {
      case 0x0A:
        line += 1
        at += 1
      case 0x20, 0x09, 0x0D: at += 1
      case UInt8(ascii: "-") where bytes[at...].starts(with: "--".utf8):
        while at < bytes.count, bytes[at] != 0x0A { at += 1 }
      default: return
      }
    }
  }

  private mutating func take(_ word: String) -> Bool {
    guard bytes[at...].starts(with: word.utf8) else { return false }
    at += word.utf8.count
    return true
  }

  private mutating func takeWord(_ word: String) -> Bool {
    guard bytes[at...].starts(with: word.utf8) else { return false }
    let end = at + word.utf8.count
    guard end >= bytes.count || !Self.isName(bytes[end]) else { return false }
    at = end
    return true
  }

  private func flaw(_ text: String) -> LuaFlaw { LuaFlaw(line: line, text: text) }
}
