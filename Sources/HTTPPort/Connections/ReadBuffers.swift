public import NIOCore

/// Allocates the buffers that a connection reads into. NIO keeps the first buffer of a connection for as long as it lives, so
/// the first is tiny and serves one read; each later one is freed when its bytes have been used. An idle connection keeps a
/// hundred bytes instead of 2 KiB, which would be a fifth of the memory of an idle session.
public struct ReadBuffers: RecvByteBufferAllocator {
  /// The bytes of the first buffer.
  private static let first = 64
  /// The bytes of the usual buffer. The allocator of glibc serves up to 1,032 bytes from a list of each thread, several times
  /// faster than more.
  private static let usual = 1_024

  private let most: Int
  private var size = ReadBuffers.first

  /// - Parameter most: The maximum bytes of a buffer. The default is for clients that send files.
  public init(most: Int = 65_536) { self.most = most }

  public func buffer(allocator: ByteBufferAllocator) -> ByteBuffer { allocator.buffer(capacity: size) }

  /// Grows while a sender fills the buffers, and shrinks when they stay three quarters empty. The result that the size may
  /// grow makes NIO allocate a new buffer instead of reusing the first.
  public mutating func record(actualReadBytes: Int) -> Bool {
    if actualReadBytes >= size {
      size = min(max(size * 4, Self.usual), most)
    } else if size < Self.usual || actualReadBytes < size / 4 {
      size = Self.usual
    }
    return true
  }
}
