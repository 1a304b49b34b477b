import Dialogs
import Testing

/// Headers of pictures: the sizes of the four kinds, and what is none.
@Suite struct ImageSizeTests {
  private static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8)
  private static func webP(_ kind: String, _ content: [UInt8]) -> [UInt8] {
    Array("RIFF".utf8) + [0, 0, 0, 0] + Array("WEBP\(kind)".utf8) + [0, 0, 0, 0] + content
  }
  /// An application segment of 4 bytes, then the frame.
  private static func jpeg(_ frame: UInt8) -> [UInt8] {
    [0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 1, 2, 0xFF, 0xFF, frame, 0, 17, 8, 0x01, 0x02, 0x03, 0x04, 3]
  }

  private func size(_ bytes: [UInt8]) -> [Int]? { ImageSize(of: bytes).map { [$0.width, $0.height] } }

  @Test func eachKindSaysItInItsOwnWay() {
    #expect(size(Self.png + [0, 0, 1, 2, 0, 0, 3, 4]) == [258, 772])
    #expect(size(Array("GIF89a".utf8) + [1, 2, 3, 4]) == [513, 1027])
    #expect(size(Self.jpeg(0xC0)) == [772, 258])
    #expect(size(Self.jpeg(0xC2)) == [772, 258], "progressive")
    #expect(size(Self.webP("VP8 ", [1, 2, 3, 0x9D, 0x01, 0x2A, 0x40, 0x80, 0x20, 0xC0])) == [64, 32])
    // 14 bits of width less one, 14 of height less one.
    #expect(size(Self.webP("VP8L", [0x2F, 0x3F, 0xC0, 0x07, 0x00] + [UInt8](repeating: 0, count: 5))) == [64, 32])
    #expect(size(Self.webP("VP8X", [0, 0, 0, 0, 63, 0, 0, 31, 0, 0])) == [64, 32])
  }

  @Test func anUnusableHeaderHasNoSize() {
    #expect(size(Self.png + [0, 1, 0, 0, 0, 0, 0, 1]) == nil, "65,536 wide")
    #expect(size(Self.png + [0, 0, 0, 0, 0, 0, 0, 1]) == nil, "nothing wide")
    #expect(size(Self.jpeg(0xDA)) == nil, "a scan without a frame")
    #expect(size(Self.jpeg(0xC4)) == nil, "a table")
    #expect(size([0xFF, 0xD8, 0xFF, 0xE0, 0, 1] + [UInt8](repeating: 0, count: 20)) == nil, "a segment without an end")
    #expect(size(Self.webP("VP8?", [UInt8](repeating: 1, count: 20))) == nil)
    #expect(size(Array("<svg width='5' height='5'/>".utf8)) == nil)
  }

  /// Cut anywhere, and any byte changed: there is an answer, and no trap.
  @Test func nothingIsReadThatIsNotThere() {
    let whole = [
      Self.png + [0, 0, 1, 2, 0, 0, 3, 4], Array("GIF89a".utf8) + [1, 2, 3, 4], Self.jpeg(0xC0),
      Self.webP("VP8 ", [1, 2, 3, 0x9D, 0x01, 0x2A, 0x40, 0, 0x20, 0]),
      Self.webP("VP8X", [0, 0, 0, 0, 63, 0, 0, 31, 0, 0]),
    ]
    for bytes in whole {
      #expect(size(bytes) != nil)
      for count in 0..<bytes.count {
        let cut = size(Array(bytes.prefix(count)))
        #expect(cut == nil || cut == size(bytes))
      }
      for index in bytes.indices {
        for value in [0x00, 0x7F, 0xFF] as [UInt8] {
          var changed = bytes
          changed[index] = value
          if let size = size(changed) { #expect(size.allSatisfy { (1...65_535).contains($0) }) }
        }
      }
    }
    let fill: [UInt8] = [0xFF, 0xD8] + [UInt8](repeating: 0xFF, count: Limits.avatarBytesMax)
    #expect(size(fill) == nil)
  }
}
