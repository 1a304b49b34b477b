/// The dimensions of an image, from its header. Nothing is decoded: a few fields at known offsets are read, each within
/// the bytes, so that hostile bytes cost no more than one pass over them.
public struct ImageSize: Hashable, Sendable {
  /// Pixels, 1 to 65,535 (XEP-0084 4.2.1: `xs:unsignedShort`).
  public let width: Int
  public let height: Int

  /// Creates dimensions; `nil` if they are out of these bounds.
  public init?(width: Int, height: Int) {
    guard (1...65_535).contains(width), (1...65_535).contains(height) else { return nil }
    self.width = width
    self.height = height
  }

  /// Reads the dimensions; `nil` for no PNG, JPEG, GIF or WebP, or a header without them.
  public init?(of bytes: [UInt8]) {
    let size: ImageSize? =
      switch Avatar.imageType(bytes) {
      case "image/png": Self.png(bytes)
      case "image/gif": Self.gif(bytes)
      case "image/jpeg": Self.jpeg(bytes)
      case "image/webp": Self.webP(bytes)
      default: nil
      }
    guard let size else { return nil }
    self = size
  }

  /// Reads a PNG, whose first chunk is IHDR (PNG, third edition, 5.6 and 11.2.1).
  private static func png(_ bytes: [UInt8]) -> ImageSize? {
    guard bytes.count >= 24, bytes[12..<16].elementsEqual("IHDR".utf8) else { return nil }
    return ImageSize(width: big(bytes, 16, 4), height: big(bytes, 20, 4))
  }

  /// Reads the logical screen of a GIF (GIF89a 18).
  private static func gif(_ bytes: [UInt8]) -> ImageSize? {
    guard bytes.count >= 10 else { return nil }
    return ImageSize(width: little(bytes, 6, 2), height: little(bytes, 8, 2))
  }

  /// Reads the frame header of a JPEG, behind any preceding segments (ITU-T T.81 B.1, B.2.2).
  private static func jpeg(_ bytes: [UInt8]) -> ImageSize? {
    var at = 2
    while at + 9 <= bytes.count {
      guard bytes[at] == 0xFF else { return nil }
      let marker = bytes[at + 1]
      // Fill bytes may precede a marker.
      if marker == 0xFF {
        at += 1
        continue
      }
      switch marker {
      // Start of frame, of any coding; the three codes in between are tables.
      case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF:
        return ImageSize(width: big(bytes, at + 7, 2), height: big(bytes, at + 5, 2))
      // Standalone markers, without a length.
      case 0x01, 0xD0...0xD7: at += 2
      // The scan begins, or the image ends, without a frame header.
      case 0x00, 0xD8...0xDA: return nil
      default:
        let length = big(bytes, at + 2, 2)
        if length < 2 { return nil }
        at += 2 + length
      }
    }
    return nil
  }

  /// Reads a WebP, which has one of three kinds of first chunk (RFC 9649 2.5 to 2.7).
  private static func webP(_ bytes: [UInt8]) -> ImageSize? {
    guard bytes.count >= 30 else { return nil }
    switch String(decoding: bytes[12..<16], as: UTF8.self) {
    case "VP8 ":
      guard bytes[23..<26].elementsEqual([0x9D, 0x01, 0x2A]) else { return nil }
      return ImageSize(width: little(bytes, 26, 2) & 0x3FFF, height: little(bytes, 28, 2) & 0x3FFF)
    case "VP8L":
      guard bytes[20] == 0x2F else { return nil }
      let packed = little(bytes, 21, 4)
      return ImageSize(width: (packed & 0x3FFF) + 1, height: (packed >> 14 & 0x3FFF) + 1)
    case "VP8X": return ImageSize(width: little(bytes, 24, 3) + 1, height: little(bytes, 27, 3) + 1)
    default: return nil
    }
  }

  private static func big(_ bytes: [UInt8], _ at: Int, _ count: Int) -> Int {
    bytes[at..<at + count].reduce(0) { $0 << 8 | Int($1) }
  }

  private static func little(_ bytes: [UInt8], _ at: Int, _ count: Int) -> Int {
    bytes[at..<at + count].reversed().reduce(0) { $0 << 8 | Int($1) }
  }
}
