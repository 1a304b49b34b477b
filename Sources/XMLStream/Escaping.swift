import NIOCore

/// The place of escaped characters: it decides what needs escaping.
enum EscapePlace {
  case text
  /// Within apostrophes.
  case attribute

  @inline(__always)
  fileprivate var stops: RunStops {
    switch self {
    case .text: RunStops(Byte.greater, Byte.carriageReturn)
    case .attribute: RunStops(Byte.greater, Byte.apostrophe)
    }
  }
}

extension StaticString {
  /// The bytes, which live for ever.
  @inline(__always)
  var raw: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: utf8Start, count: utf8CodeUnitCount) }
}

/// Writes into memory that has been reserved: one reservation for many pieces, which is what the speed of the writer
/// depends on.
private struct ReservedOutput {
  let start: UnsafeMutablePointer<UInt8>
  var count = 0

  @inline(__always)
  mutating func put(_ byte: UInt8) {
    start[count] = byte
    count &+= 1
  }

  @inline(__always)
  mutating func put(_ bytes: UnsafeRawBufferPointer) {
    guard let source = bytes.baseAddress else { return }
    UnsafeMutableRawPointer(start + count).copyMemory(from: source, byteCount: bytes.count)
    count &+= bytes.count
  }

  /// Puts the characters before the first that needs care. Returns how many bytes they have.
  @inline(__always)
  mutating func putPlain(_ bytes: UnsafeRawBufferPointer, _ place: EscapePlace) -> Int {
    guard let source = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return 0 }
    let run = copyRun(source, source + bytes.count, start + count, place.stops)
    count &+= run
    return run
  }

  /// Puts the character that `from` begins with, escaped. Returns the bytes taken, never more than `available`.
  mutating func putSpecial(_ from: UnsafePointer<UInt8>, _ available: Int, _ place: EscapePlace) -> Int {
    let byte = from[0]
    switch byte {
    case Byte.less: put(("&lt;" as StaticString).raw)
    case Byte.greater: put(("&gt;" as StaticString).raw)
    case Byte.ampersand: put(("&amp;" as StaticString).raw)
    case Byte.apostrophe: put(("&apos;" as StaticString).raw)
    case Byte.carriageReturn: put(("&#13;" as StaticString).raw)
    case Byte.lineFeed where place == .attribute: put(("&#10;" as StaticString).raw)
    case Byte.tab where place == .attribute: put(("&#9;" as StaticString).raw)
    case Byte.lineFeed, Byte.tab: put(byte)
    case 0x80...0xFF:
      let length = sequenceLength(byte)
      guard length > 0, length <= available, let scalar = decode(from, length) else {
        put(Self.replacement.raw)
        return 1
      }
      put(isCharacter(scalar) ? UnsafeRawBufferPointer(start: from, count: length) : Self.replacement.raw)
      return length
    default: put(Self.replacement.raw)
    }
    return 1
  }

  /// U+FFFD for characters that XML 1.0 2.2 forbids.
  private static let replacement: StaticString = "\u{FFFD}"
}

extension ByteBuffer {
  /// The input escaped at a time; it bounds the room asked for.
  private static let escapeStep = 256
  /// The most output bytes of one input byte (`&apos;`).
  private static let escapeGrowth = 6
  /// The bytes of the longest character.
  private static let characterBytes = 4

  /// Writes two or three pieces in one go.
  @inline(__always)
  mutating func write(_ first: StaticString, _ second: UnsafeRawBufferPointer, _ third: StaticString = "") {
    write(first.utf8CodeUnitCount + second.count + third.utf8CodeUnitCount) { output in
      output.put(first.raw)
      output.put(second)
      output.put(third.raw)
    }
  }

  /// Writes ` prefix:name='value'`, or without a prefix if it is empty.
  mutating func writeAttribute(
    _ prefix: UnsafeRawBufferPointer, _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) {
    var done = 0
    write(prefix.count + name.count + value.count + 5) { output in
      output.put(Byte.space)
      if prefix.count > 0 {
        output.put(prefix)
        output.put(Byte.colon)
      }
      output.put(name)
      output.put(Byte.equals)
      output.put(Byte.apostrophe)
      done = output.putPlain(value, .attribute)
      if done == value.count { output.put(Byte.apostrophe) }
    }
    if done < value.count {
      escape(value, from: done, .attribute)
      writeInteger(Byte.apostrophe)
    }
  }

  /// Writes character data.
  mutating func writeText(_ text: UnsafeRawBufferPointer) {
    var done = 0
    write(text.count) { output in done = output.putPlain(text, .text) }
    escape(text, from: done, .text)
  }

  /// Writes characters so that a parser gets the same ones back: markup becomes references, and so does whitespace that
  /// a parser would normalise (XML 1.0 2.11, 3.3.3). Characters that XML forbids (2.2) become U+FFFD.
  private mutating func escape(_ source: UnsafeRawBufferPointer, from offset: Int, _ place: EscapePlace) {
    guard let start = source.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
    var at = offset
    while at < source.count {
      let stop = min(source.count, at + Self.escapeStep)
      // The last character may reach beyond the step.
      write((stop - at + Self.characterBytes) * Self.escapeGrowth) { output in
        while at < stop {
          at += output.putPlain(UnsafeRawBufferPointer(start: start + at, count: stop - at), place)
          if at < stop { at += output.putSpecial(start + at, source.count - at, place) }
        }
      }
    }
  }

  @inline(__always)
  private mutating func write(_ room: Int, _ body: (inout ReservedOutput) -> Void) {
    writeWithUnsafeMutableBytes(minimumWritableBytes: room) { target in
      guard let start = target.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return 0 }
      var output = ReservedOutput(start: start)
      body(&output)
      return output.count
    }
  }
}
