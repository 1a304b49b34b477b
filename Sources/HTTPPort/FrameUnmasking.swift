import NIOCore
public import NIOWebSocket

extension WebSocketFrame {
  /// The payload in the clear (RFC 6455 5.3) while `body` runs. `unmaskedData` copies it into a buffer of its own and takes it
  /// byte by byte; a message is parsed once and its bytes are not kept, so the stack will do, and eight bytes at a time.
  public func withUnmaskedBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
    data.withUnsafeReadableBytes { masked in
      guard let maskKey else { return body(masked) }
      return withUnsafeTemporaryAllocation(byteCount: masked.count, alignment: 8) { clear in
        let key = maskKey.enumerated().reduce(UInt32(0)) { $0 | UInt32($1.element) << (8 * UInt32($1.offset)) }
        let keys = UInt64(key) << 32 | UInt64(key)
        let words = masked.count & ~7
        for at in stride(from: 0, to: words, by: 8) {
          let word = UInt64(littleEndian: masked.loadUnaligned(fromByteOffset: at, as: UInt64.self))
          clear.storeBytes(of: (word ^ keys).littleEndian, toByteOffset: at, as: UInt64.self)
        }
        for at in words..<masked.count {
          clear[at] = masked[at] ^ UInt8(truncatingIfNeeded: key >> (8 * UInt32(at & 3)))
        }
        return body(UnsafeRawBufferPointer(clear))
      }
    }
  }
}
