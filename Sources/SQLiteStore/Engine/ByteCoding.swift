/// Writes numbers and texts one behind the other: small and rarely read values need no columns of their own. Numbers
/// are zig-zag LEB128, texts and bytes are preceded by their length.
struct ByteWriter {
  private(set) var bytes: [UInt8] = []

  mutating func write(_ value: Int64) {
    var rest = UInt64(bitPattern: (value << 1) ^ (value >> 63))
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
  }

  mutating func write(_ flag: Bool) { bytes.append(flag ? 1 : 0) }

  mutating func write(_ text: String) {
    write(Int64(text.utf8.count))
    bytes.append(contentsOf: text.utf8)
  }

  mutating func write(_ more: [UInt8]) {
    write(Int64(more.count))
    bytes.append(contentsOf: more)
  }

  mutating func write<Value>(_ value: Value?, _ each: (inout ByteWriter, Value) -> Void) {
    write(value != nil)
    if let value { each(&self, value) }
  }

  mutating func write<Value>(_ values: [Value], _ each: (inout ByteWriter, Value) -> Void) {
    write(Int64(values.count))
    for value in values { each(&self, value) }
  }
}

/// Reads the output of `ByteWriter`. Throws `StoreFailure.corrupt` for any other bytes.
struct ByteReader {
  private let bytes: [UInt8]
  private var place = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var isAtEnd: Bool { place == bytes.count }

  private func damaged() -> StoreFailure { .corrupt("the parts of an entry cannot be read") }

  private mutating func byte() throws(StoreFailure) -> UInt8 {
    guard place < bytes.count else { throw damaged() }
    defer { place += 1 }
    return bytes[place]
  }

  private mutating func slice() throws(StoreFailure) -> ArraySlice<UInt8> {
    let count = try int()
    guard count >= 0, count <= Int64(bytes.count - place) else { throw damaged() }
    defer { place += Int(count) }
    return bytes[place..<place + Int(count)]
  }

  mutating func int() throws(StoreFailure) -> Int64 {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while true {
      let next = try byte()
      guard shift < 63 || next <= 1 else { throw damaged() }
      value |= UInt64(next & 0x7f) << shift
      if next < 0x80 { break }
      shift += 7
    }
    return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
  }

  mutating func flag() throws(StoreFailure) -> Bool { try byte() != 0 }

  mutating func text() throws(StoreFailure) -> String { String(decoding: try slice(), as: UTF8.self) }

  mutating func array() throws(StoreFailure) -> [UInt8] { Array(try slice()) }

  mutating func optional<Value>(
    _ each: (inout ByteReader) throws(StoreFailure) -> Value
  ) throws(StoreFailure) -> Value? {
    try flag() ? try each(&self) : nil
  }

  mutating func list<Value>(
    _ each: (inout ByteReader) throws(StoreFailure) -> Value
  ) throws(StoreFailure) -> [Value] {
    let count = try int()
    // Each value has at least one byte.
    guard count >= 0, count <= Int64(bytes.count - place) else { throw damaged() }
    var values: [Value] = []
    values.reserveCapacity(Int(count))
    for _ in 0..<count { values.append(try each(&self)) }
    return values
  }
}
