// Classes of bytes and characters of XML 1.0 (fifth edition), and the search for the next byte that matters, 8 bytes a
// step.

/// Byte constants, named after the character.
enum Byte {
  static let tab: UInt8 = 0x09
  static let lineFeed: UInt8 = 0x0A
  static let carriageReturn: UInt8 = 0x0D
  static let space: UInt8 = 0x20
  static let exclamation: UInt8 = 0x21
  static let doubleQuote: UInt8 = 0x22
  static let hash: UInt8 = 0x23
  static let ampersand: UInt8 = 0x26
  static let apostrophe: UInt8 = 0x27
  static let slash: UInt8 = 0x2F
  static let colon: UInt8 = 0x3A
  static let semicolon: UInt8 = 0x3B
  static let less: UInt8 = 0x3C
  static let equals: UInt8 = 0x3D
  static let greater: UInt8 = 0x3E
  static let question: UInt8 = 0x3F
  static let closeBracket: UInt8 = 0x5D
  static let x: UInt8 = 0x78
}

/// Returns whether a byte is S of XML 1.0 2.3.
@inline(__always)
func isWhitespace(_ byte: UInt8) -> Bool {
  byte == Byte.space || byte == Byte.lineFeed || byte == Byte.tab || byte == Byte.carriageReturn
}

/// Returns whether a byte is in the ASCII part of NameChar (XML 1.0 2.3) without the colon.
@inline(__always)
func isNameByte(_ byte: UInt8) -> Bool {
  // Bit n of the first word is character n, of the second 64 + n.
  let low: UInt64 = 0x03FF_6000_0000_0000
  let high: UInt64 = 0x07FF_FFFE_87FF_FFFE
  return byte < 0x80 && ((byte < 0x40 ? low : high) >> UInt64(byte & 0x3F)) & 1 == 1
}

/// Returns whether a byte is in the ASCII part of NameStartChar (XML 1.0 2.3) without the colon.
@inline(__always)
func isNameStartByte(_ byte: UInt8) -> Bool {
  let letter = byte | 0x20
  return (letter >= 0x61 && letter <= 0x7A) || byte == 0x5F
}

/// Returns whether a scalar is NameStartChar of XML 1.0 2.3 beyond ASCII.
func isNameStart(_ scalar: UInt32) -> Bool {
  switch scalar {
  case 0xC0...0xD6, 0xD8...0xF6, 0xF8...0x2FF, 0x370...0x37D, 0x37F...0x1FFF, 0x200C...0x200D, 0x2070...0x218F,
    0x2C00...0x2FEF, 0x3001...0xD7FF, 0xF900...0xFDCF, 0xFDF0...0xFFFD, 0x1_0000...0xE_FFFF:
    true
  default:
    false
  }
}

/// Returns whether a scalar is NameChar of XML 1.0 2.3 beyond ASCII.
func isNameScalar(_ scalar: UInt32) -> Bool {
  switch scalar {
  case 0xB7, 0x300...0x36F, 0x203F...0x2040: true
  default: isNameStart(scalar)
  }
}

/// Returns whether a scalar is Char of XML 1.0 2.2: whether it may appear in a document at all.
@inline(__always)
func isCharacter(_ scalar: UInt32) -> Bool {
  if scalar < 0x20 { return scalar == 0x09 || scalar == 0x0A || scalar == 0x0D }
  if scalar < 0xD800 { return true }
  return (scalar >= 0xE000 && scalar < 0xFFFE) || (scalar >= 0x1_0000 && scalar <= 0x10_FFFF)
}

/// Returns the bytes of the UTF-8 sequence that `first` opens (RFC 3629 4); 0 if it opens none of two bytes or more.
@inline(__always)
func sequenceLength(_ first: UInt8) -> Int {
  switch first {
  case 0xC2...0xDF: 2
  case 0xE0...0xEF: 3
  case 0xF0...0xF4: 4
  default: 0
  }
}

/// Returns the scalar of a complete sequence of `length` bytes whose first byte asked for that length; `nil` if it is
/// ill-formed: not continued, overlong, a surrogate or beyond U+10FFFF (RFC 3629 3).
@inline(__always)
func decode(_ at: UnsafePointer<UInt8>, _ length: Int) -> UInt32? {
  let (a, b) = (UInt32(at[0]), UInt32(at[1]))
  guard b & 0xC0 == 0x80 else { return nil }
  if length == 2 { return (a & 0x1F) << 6 | b & 0x3F }
  let c = UInt32(at[2])
  guard c & 0xC0 == 0x80 else { return nil }
  if length == 3 {
    let scalar = (a & 0x0F) << 12 | (b & 0x3F) << 6 | c & 0x3F
    return scalar < 0x800 || (scalar >= 0xD800 && scalar < 0xE000) ? nil : scalar
  }
  let d = UInt32(at[3])
  guard d & 0xC0 == 0x80 else { return nil }
  let scalar = (a & 0x07) << 18 | (b & 0x3F) << 12 | (c & 0x3F) << 6 | d & 0x3F
  return scalar < 0x1_0000 || scalar > 0x10_FFFF ? nil : scalar
}

/// The bytes that end a run of plain characters, besides control characters, `<`, `&` and everything beyond ASCII.
struct RunStops {
  fileprivate let first: UInt64
  fileprivate let second: UInt64

  @inline(__always)
  init(_ first: UInt8, _ second: UInt8) {
    self.first = UInt64(first) &* 0x0101_0101_0101_0101
    self.second = UInt64(second) &* 0x0101_0101_0101_0101
  }
}

/// Marks, by the high bit of each byte, which of 8 bytes stop a run. Only the lowest mark is exact: a borrow can set
/// false ones above it.
@inline(__always)
private func stopMarks(_ word: UInt64, _ stops: RunStops) -> UInt64 {
  let ones: UInt64 = 0x0101_0101_0101_0101
  let highs: UInt64 = 0x8080_8080_8080_8080
  let less = word ^ (ones &* UInt64(Byte.less))
  let ampersand = word ^ (ones &* UInt64(Byte.ampersand))
  let first = word ^ stops.first
  let second = word ^ stops.second
  let controls = (word &- ones &* 0x20) & ~word
  let matches =
    ((less &- ones) & ~less) | ((ampersand &- ones) & ~ampersand) | ((first &- ones) & ~first)
    | ((second &- ones) & ~second)
  return (controls | matches | word) & highs
}

/// Copies plain bytes from `from` (up to `end`) to `to` until one stops the run; returns how many. `to` must have room
/// for `end - from` bytes.
@inline(__always)
func copyRun(
  _ from: UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>, _ to: UnsafeMutablePointer<UInt8>, _ stops: RunStops
) -> Int {
  var at = 0
  let count = end - from
  while count &- at >= 8 {
    let word = UnsafeRawPointer(from + at).loadUnaligned(as: UInt64.self)
    UnsafeMutableRawPointer(to + at).storeBytes(of: word, as: UInt64.self)
    let marks = stopMarks(UInt64(littleEndian: word), stops)
    if marks != 0 { return at &+ (marks.trailingZeroBitCount >> 3) }
    at &+= 8
  }
  while at < count {
    let byte = from[at]
    if stopMarks(UInt64(byte) | 0x6161_6161_6161_6100, stops) != 0 { return at }
    to[at] = byte
    at &+= 1
  }
  return at
}
