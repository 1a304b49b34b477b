import Testing

@testable import SQLiteStore

@Suite struct ByteCodingTests {
  @Test(arguments: [0, 1, -1, 63, 64, -64, -65, 1 << 40, .max, .min] as [Int64])
  func numbersComeBack(_ number: Int64) throws {
    var writer = ByteWriter()
    writer.write(number)
    writer.write("after")
    var reader = ByteReader(writer.bytes)
    #expect(try reader.int() == number)
    #expect(try reader.text() == "after")
  }

  @Test func listsAndOptionalsComeBack() throws {
    var writer = ByteWriter()
    writer.write(["a", "", "\u{e9}"]) { $0.write($1) }
    writer.write(nil as String?) { $0.write($1) }
    writer.write([1, 2] as [UInt8]?) { $0.write($1) }
    writer.write(true)
    var reader = ByteReader(writer.bytes)
    #expect(try reader.list { reader throws(StoreFailure) in try reader.text() } == ["a", "", "\u{e9}"])
    #expect(try reader.optional { reader throws(StoreFailure) in try reader.text() } == nil)
    #expect(try reader.optional { reader throws(StoreFailure) in try reader.array() } == [1, 2])
    #expect(try reader.flag())
  }

  /// Lengths and counts that the bytes do not have, endless numbers, nothing.
  @Test(arguments: [[], [0x80], [200, 1], [2], [0x01], [UInt8](repeating: 0xff, count: 12)] as [[UInt8]])
  func damagedBytesAreRefused(_ bytes: [UInt8]) {
    #expect(throws: StoreFailure.self) {
      var reader = ByteReader(bytes)
      _ = try reader.list { reader throws(StoreFailure) in try reader.text() }
    }
  }
}
