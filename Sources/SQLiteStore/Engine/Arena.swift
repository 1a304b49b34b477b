/// The bytes bound to a statement, side by side in one block of memory that is reused for each message, which saves
/// allocations and a second copy by the engine.
final class Arena {
  private var base: UnsafeMutableRawPointer
  private var capacity: Int
  private var used = 0

  init() {
    capacity = 16 << 10
    base = .allocate(byteCount: capacity, alignment: 1)
  }

  deinit { base.deallocate() }

  /// Drops all placed bytes and makes room. The bytes placed until the next call must not exceed `bytes`, so that the block
  /// is not moved.
  func begin(_ bytes: Int) {
    used = 0
    guard bytes > capacity else { return }
    base.deallocate()
    capacity = max(bytes, 2 * capacity)
    base = .allocate(byteCount: capacity, alignment: 1)
  }

  struct Text { let bytes: UnsafeRawBufferPointer }
  struct Bytes { let bytes: UnsafeRawBufferPointer }

  func place(_ text: String?) -> Text? {
    guard var text else { return nil }
    return Text(bytes: text.withUTF8 { place(UnsafeRawBufferPointer($0)) })
  }

  /// Places bytes; returns `nil` if there are none, which saves a column's bytes.
  func place(unlessEmpty bytes: [UInt8]) -> Bytes? {
    bytes.isEmpty ? nil : Bytes(bytes: bytes.withUnsafeBytes { place($0) })
  }

  private func place(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    precondition(bytes.count <= capacity - used, "more bytes than were announced")
    let start = base + used
    if let source = bytes.baseAddress { start.copyMemory(from: source, byteCount: bytes.count) }
    used += bytes.count
    return UnsafeRawBufferPointer(start: start, count: bytes.count)
  }
}
