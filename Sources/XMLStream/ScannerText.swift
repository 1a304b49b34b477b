// The scanner's part for characters: content, values, CDATA, references, UTF-8, and the XML declaration.

extension Scanner {
  // MARK: Content and values

  /// Reads character data within an element, up to a `<`, a `&` or a `]`.
  @inline(__always)
  mutating func scanContent(_ at: inout Cursor, _ end: Cursor) throws(XMLViolation) {
    if at.pointee == Byte.less, carry == 0 {
      beginMarkup(&at)
      return
    }
    if try !resume(&at, end) { return }
    let stops = RunStops(Byte.closeBracket, Byte.closeBracket)
    while at < end {
      takeRun(&at, end, stops)
      guard at < end else { return }
      let byte = at.pointee
      switch byte {
      case Byte.less:
        beginMarkup(&at)
        return
      case Byte.ampersand:
        at += 1
        isInValue = false
        state = .reference
        return
      case Byte.closeBracket:
        take(byte, &at)
        progress = 1
        state = .textBracket
        return
      default:
        try takeSpecial(&at, end)
      }
    }
  }

  /// Reads behind one `]` or more in content: `]]>` must not come (XML 1.0 2.4).
  mutating func scanTextBracket(_ at: inout Cursor) throws(XMLViolation) {
    examine(1)
    switch at.pointee {
    case Byte.closeBracket:
      take(Byte.closeBracket, &at)
      progress = 2
    case Byte.greater where progress == 2:
      throw .notWellFormed("]]> in text")
    default:
      state = .content
    }
  }

  /// Reads an attribute value, normalised (XML 1.0 3.3.3). Returns `true` if it ended, and the attribute is complete.
  @inline(__always)
  mutating func scanValue(_ at: inout Cursor, _ end: Cursor) throws(XMLViolation) -> Bool {
    if try !resume(&at, end) { return false }
    let stops = RunStops(quote, quote)
    while at < end {
      takeRun(&at, end, stops)
      guard at < end else { return false }
      let byte = at.pointee
      if byte == quote {
        at += 1
        try finishValue()
        return true
      }
      switch byte {
      case Byte.less: throw .notWellFormed("'<' in an attribute value")
      case Byte.ampersand:
        at += 1
        isInValue = true
        state = .reference
        return false
      case Byte.tab, Byte.lineFeed: take(Byte.space, &at)
      case Byte.carriageReturn:
        take(Byte.space, &at)
        carry = Self.carriageReturn
        if try !resume(&at, end) { return false }
      default: try takeSpecial(&at, end)
      }
    }
    return false
  }

  // MARK: CDATA

  /// Reads behind `<!`: only `[CDATA[` within an element is allowed.
  mutating func scanBang(_ at: inout Cursor) throws(XMLViolation) {
    examine(1)
    let opening: StaticString = "[CDATA["
    guard opening.raw[progress] == at.pointee else {
      throw .restricted(progress == 0 ? "comment or DTD" : "conditional section")
    }
    guard depth > 0 else { throw .notWellFormed("character data outside stanzas") }
    at += 1
    progress += 1
    if progress == opening.utf8CodeUnitCount { state = .cdata }
  }

  mutating func scanCDATA(_ at: inout Cursor, _ end: Cursor) throws(XMLViolation) {
    if try !resume(&at, end) { return }
    let stops = RunStops(Byte.closeBracket, Byte.closeBracket)
    while at < end {
      takeRun(&at, end, stops)
      guard at < end else { return }
      let byte = at.pointee
      switch byte {
      case Byte.less, Byte.ampersand: take(byte, &at)
      case Byte.closeBracket:
        at += 1
        progress = 1
        state = .cdataBracket
        return
      default: try takeSpecial(&at, end)
      }
    }
  }

  /// Reads behind one or two `]` of a CDATA section, which are not taken yet.
  mutating func scanCDATABracket(_ at: inout Cursor) {
    examine(1)
    switch at.pointee {
    case Byte.closeBracket:
      // The first of three belongs to the text.
      if progress == 2 { take(Byte.closeBracket, &at) } else { at += 1 }
      progress = 2
    case Byte.greater where progress == 2:
      at += 1
      state = .content
    default:
      for _ in 0..<progress { put(Byte.closeBracket) }
      state = .cdata
    }
  }

  // MARK: References

  /// Reads behind `&`: a character reference or one of the five predefined entities (XML 1.0 4.1, 4.6; RFC 6120 11.1).
  mutating func scanReference(_ at: inout Cursor) throws(XMLViolation) {
    examine(1)
    let byte = at.pointee
    at += 1
    switch state {
    case .reference:
      reference = 0
      referenceCount = 0
      if byte == Byte.hash {
        state = .referenceNumber
      } else if isNameStartByte(byte) {
        reference = UInt32(byte)
        referenceCount = 1
        state = .referenceName
      } else if byte >= 0x80 || byte == Byte.colon {
        throw .restricted("entity reference")
      } else {
        throw .notWellFormed("'&' that opens no reference")
      }
    case .referenceName:
      if byte == Byte.semicolon {
        try finishEntity()
      } else if isNameByte(byte) || byte == Byte.colon || byte >= 0x80 {
        referenceCount += 1
        // The longest predefined ones have four letters.
        guard referenceCount <= 4 else { throw .restricted("entity reference") }
        reference = reference << 8 | UInt32(byte)
      } else {
        throw .notWellFormed("reference without ';'")
      }
    case .referenceNumber where byte == Byte.x:
      state = .hexadecimal
    case .referenceNumber, .decimal:
      state = .decimal
      try addDigit(byte, radix: 10)
    case .hexadecimal:
      try addDigit(byte, radix: 16)
    case .start, .mark, .prolog, .declaration, .between, .epilog, .markup, .bang, .elementName, .tag, .attributeName,
      .equals, .quote,
      .value, .emptyTag, .endName, .endTag, .content, .textBracket, .cdata, .cdataBracket, .closed, .failed, .opened,
      .complete,
      .closing:
      break
    }
  }

  private mutating func addDigit(_ byte: UInt8, radix: UInt32) throws(XMLViolation) {
    if byte == Byte.semicolon {
      guard referenceCount > 0, isCharacter(reference) else { throw .notWellFormed("reference to no character") }
      return finishReference(reference)
    }
    let digit: UInt32
    switch byte {
    case 0x30...0x39: digit = UInt32(byte - 0x30)
    case 0x41...0x46 where radix == 16: digit = UInt32(byte - 0x41 + 10)
    case 0x61...0x66 where radix == 16: digit = UInt32(byte - 0x61 + 10)
    default: throw .notWellFormed("character reference without digits or ';'")
    }
    referenceCount = 1
    // Held just above the last character, so that no number of digits wraps to a valid one.
    reference = min(reference * radix + digit, 0x11_0000)
  }

  private mutating func finishEntity() throws(XMLViolation) {
    switch reference {
    case 0x6C74: finishReference(UInt32(Byte.less))  // lt
    case 0x6774: finishReference(UInt32(Byte.greater))  // gt
    case 0x616D_70: finishReference(UInt32(Byte.ampersand))  // amp
    case 0x7175_6F74: finishReference(UInt32(Byte.doubleQuote))  // quot
    case 0x6170_6F73: finishReference(UInt32(Byte.apostrophe))  // apos
    default: throw .restricted("entity reference")
    }
  }

  /// Puts the referenced character; the reference had at least as many bytes.
  private mutating func finishReference(_ scalar: UInt32) {
    state = isInValue ? .value : .content
    func tail(_ shift: UInt32) -> UInt8 { UInt8(0x80 | (scalar >> shift) & 0x3F) }
    switch scalar {
    case 0..<0x80:
      put(UInt8(scalar))
    case 0x80..<0x800:
      put(UInt8(0xC0 | scalar >> 6))
      put(tail(0))
    case 0x800..<0x1_0000:
      put(UInt8(0xE0 | scalar >> 12))
      put(tail(6))
      put(tail(0))
    default:
      put(UInt8(0xF0 | (scalar >> 18) & 0x07))
      put(tail(12))
      put(tail(6))
      put(tail(0))
    }
  }

  // MARK: Bytes

  /// Takes plain characters.
  @inline(__always)
  private mutating func takeRun(_ at: inout Cursor, _ end: Cursor, _ stops: RunStops) {
    let run = copyRun(at, end, builder.start + builder.byteCount, stops)
    builder.byteCount &+= run
    examine(run &+ 1)
    at += run
  }

  /// Puts a byte; `scan` has reserved the room.
  @inline(__always)
  private mutating func put(_ byte: UInt8) {
    builder.start[builder.byteCount] = byte
    builder.byteCount &+= 1
  }

  /// Consumes one byte and puts another, or the same.
  @inline(__always)
  private mutating func take(_ byte: UInt8, _ at: inout Cursor) {
    put(byte)
    at += 1
  }

  /// Takes a character that is neither plain nor markup: line ends (XML 1.0 2.11), whitespace, characters beyond ASCII.
  /// Refuses control characters.
  private mutating func takeSpecial(_ at: inout Cursor, _ end: Cursor) throws(XMLViolation) {
    let byte = at.pointee
    if byte >= 0x80 {
      if let scalar = try scanSequence(&at, end), !isCharacter(scalar) {
        throw .notWellFormed("character not allowed in XML")
      }
    } else if byte == Byte.carriageReturn {
      take(Byte.lineFeed, &at)
      carry = Self.carriageReturn
      _ = try resume(&at, end)
    } else {
      guard byte == Byte.lineFeed || byte == Byte.tab else { throw .notWellFormed("control character") }
      take(byte, &at)
    }
  }

  /// Ends a line end or a character that a window has cut. Returns `true` if that is done, and there are bytes left.
  @inline(__always)
  private mutating func resume(_ at: inout Cursor, _ end: Cursor) throws(XMLViolation) -> Bool {
    guard carry != 0, at < end else { return at < end }
    if carry == Self.carriageReturn {
      carry = 0
      if at.pointee == Byte.lineFeed { at += 1 }
    } else {
      guard let scalar = try resumeSequence(&at, end) else { return false }
      guard isCharacter(scalar) else { throw .notWellFormed("character not allowed in XML") }
    }
    return at < end
  }

  /// Takes a UTF-8 sequence and returns its scalar; `nil` if the window ends within it.
  mutating func scanSequence(_ at: inout Cursor, _ end: Cursor) throws(XMLViolation) -> UInt32? {
    let length = sequenceLength(at.pointee)
    guard length > 0 else { throw .unsupportedEncoding }
    if end - at >= length {
      guard let scalar = decode(at, length) else { throw .unsupportedEncoding }
      for _ in 0..<length { take(at.pointee, &at) }
      return scalar
    }
    sequenceStart = builder.byteCount
    carry = UInt8(length)
    return try resumeSequence(&at, end)
  }

  /// Continues a sequence that a window has cut.
  mutating func resumeSequence(_ at: inout Cursor, _ end: Cursor) throws(XMLViolation) -> UInt32? {
    while at < end {
      examine(1)
      guard builder.byteCount == sequenceStart || at.pointee & 0xC0 == 0x80 else { throw .unsupportedEncoding }
      take(at.pointee, &at)
      carry -= 1
      if carry == 0 {
        guard let scalar = decode(builder.start + sequenceStart, builder.byteCount - sequenceStart) else {
          throw .unsupportedEncoding
        }
        return scalar
      }
    }
    return nil
  }
}
