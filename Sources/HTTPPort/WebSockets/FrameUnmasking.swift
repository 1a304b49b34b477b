import NIOCore
public import NIOWebSocket

extension WebSocketFrame {
  /// Calls `body` with the unmasked payload (RFC 6455 5.3). `unmaskedData` copies it to a new buffer octet by octet;
  /// here the copy is on the stack and made eight octets at a time, since a message is parsed once and not kept.
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
