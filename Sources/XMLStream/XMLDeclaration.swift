// The XML declaration (XML 1.0 2.8): `<?xml version='1.0' encoding='UTF-8'?>`.

extension Scanner {
  /// Reads behind `<?` at the very start. The bytes are collected, up to the cap of the item, and checked when `?>` has
  /// come.
  mutating func scanDeclaration(_ at: inout Cursor) throws(XMLViolation) {
    examine(1)
    let byte = at.pointee
    let bytes = builder.start
    let index = builder.byteCount - tokenStart
    bytes[builder.byteCount] = byte
    builder.byteCount += 1
    at += 1
    let target: StaticString = "xml"
    if index < 3 {
      guard target.raw[index] == byte else { throw .restricted("processing instruction") }
    } else if index == 3 {
      guard isWhitespace(byte) else { throw .restricted("processing instruction") }
    } else if byte == Byte.greater, bytes[builder.byteCount - 2] == Byte.question {
      var declaration = XMLDeclaration(UnsafeBufferPointer(start: bytes + tokenStart + 3, count: index - 4))
      try declaration.check()
      builder.byteCount = tokenStart
      state = .prolog
    }
  }
}

/// The text between `<?xml` and `?>`.
private struct XMLDeclaration {
  private let bytes: UnsafeBufferPointer<UInt8>
  private var at = 0

  init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

  /// Checks version, then encoding and standalone if given, in this order. A standalone declaration means nothing
  /// without a DTD and is ignored (RFC 6120 11.5).
  mutating func check() throws(XMLViolation) {
    guard let version = try property("version") else { throw .notWellFormed("XML declaration without a version") }
    guard matches(version, "1.0") else { throw .unsupportedEncoding }
    if let encoding = try property("encoding") {
      guard matches(encoding, "utf-8") else { throw .unsupportedEncoding }
    }
    if let standalone = try property("standalone") {
      guard equals(slice(standalone), "yes") || equals(slice(standalone), "no") else {
        throw .notWellFormed("XML declaration")
      }
    }
    skipWhitespace()
    guard at == bytes.count else { throw .notWellFormed("XML declaration") }
  }

  /// Returns the value of a property, if it is the next one.
  private mutating func property(_ name: StaticString) throws(XMLViolation) -> Range<Int>? {
    let start = at
    let isSpaced = skipWhitespace()
    let count = name.utf8CodeUnitCount
    guard isSpaced, bytes.count - at >= count, equals(slice(at..<at + count), name) else {
      at = start
      return nil
    }
    at += count
    skipWhitespace()
    guard take() == Byte.equals else { throw .notWellFormed("XML declaration") }
    skipWhitespace()
    guard let quote = take(), quote == Byte.apostrophe || quote == Byte.doubleQuote else {
      throw .notWellFormed("XML declaration")
    }
    let from = at
    while let byte = take() {
      if byte == quote { return from..<at - 1 }
    }
    throw .notWellFormed("XML declaration")
  }

  private mutating func take() -> UInt8? {
    guard at < bytes.count else { return nil }
    at += 1
    return bytes[at - 1]
  }

  @discardableResult
  private mutating func skipWhitespace() -> Bool {
    let start = at
    while at < bytes.count, isWhitespace(bytes[at]) { at += 1 }
    return at > start
  }

  private func slice(_ range: Range<Int>) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[range]))
  }

  /// Returns whether a value matches regardless of the case of ASCII letters (XML 1.0 4.3.3).
  private func matches(_ range: Range<Int>, _ lowercase: StaticString) -> Bool {
    lowercase.raw.elementsEqual(bytes[range].lazy.map { byte in byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte })
  }
}
