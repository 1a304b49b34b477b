import Glibc
import NIOCore
import Testing

@testable import XMPPDoor

@Suite struct TLSBuffersTests {
  /// The size of NIOSSL's larger buffer.
  private static let size = 32_768

  private static func filled() -> ByteBuffer {
    var buffer = TLSBuffers.allocator.buffer(capacity: size)
    buffer.writeRepeatingByte(7, count: size)
    return buffer
  }

  /// Returns how many of a buffer's pages are in memory.
  private static func pages(_ buffer: ByteBuffer) -> Int {
    buffer.withVeryUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return 0 }
      var found = [UInt8](repeating: 0, count: size / 4_096)
      #expect(mincore(UnsafeMutableRawPointer(mutating: start), size, &found) == 0)
      return found.count { $0 & 1 == 1 }
    }
  }

  @Test func releasesTheMemoryOfABufferThatIsUsedAgain() {
    var buffer = ByteBuffer()
    let buffers = TLSBuffers { buffer = Self.filled() }
    #expect(Self.pages(buffer) == 8)
    buffers.release()
    #expect(Self.pages(buffer) == 0)
    buffer.clear()
    buffer.writeString("again")
    #expect(buffer.readString(length: 5) == "again" && Self.pages(buffer) == 1)
  }

  @Test func leavesTheBuffersOfOthersAlone() {
    var mine = ByteBuffer()
    var yours = ByteBuffer()
    let buffers = TLSBuffers { mine = Self.filled() }
    let others = TLSBuffers { yours = Self.filled() }
    let nobodys = Self.filled()
    buffers.release()
    #expect([mine, yours, nobodys].map(Self.pages) == [0, 8, 8])
    withExtendedLifetime(others) {}
  }

  /// A freed buffer's address may be allocated for somebody else.
  @Test func releasesNothingThatWasFreedMeanwhile() {
    var kept: [ByteBuffer] = []
    let buffers = TLSBuffers {
      for _ in 0..<8 { _ = Self.filled() }
      kept = (0..<8).map { _ in Self.filled() }
      kept = []
    }
    kept = (0..<16).map { _ in Self.filled() }
    buffers.release()
    #expect(kept.allSatisfy { Self.pages($0) == 8 })
  }

  @Test func growsAndShrinksBuffersOfAnySize() {
    var buffer = TLSBuffers.allocator.buffer(capacity: 64)
    for byte in UInt8(0)..<200 { buffer.writeRepeatingByte(byte, count: 500) }
    #expect(buffer.readableBytes == 100_000)
    for byte in UInt8(0)..<200 { #expect(buffer.readBytes(length: 500)?.allSatisfy { $0 == byte } == true) }
  }
}
