import Glibc
@_spi(CustomByteBufferAllocator) import NIOCore
import Synchronization

/// The large buffers of one connection's TLS: 32 KiB for what has been decrypted and 16 KiB for what has been encrypted.
/// NIOSSL keeps both for as long as the connection lives. A stanza uses their first bytes alone, and the handshake a few
/// thousand, so that an idle connection would keep some 11 KiB of memory for nothing: more than for all that it knows.
///
/// The buffers stand on pages of their own. The pages of an idle connection are given back to the system, which supplies
/// empty ones when the buffers are used again. That is safe where nothing is in the buffers (`release`), for buffers that
/// are this connection's: NIO may free one, and have the same address for another connection's. `owners` tells, under a
/// lock that freeing takes as well.
///
/// Confined to its connection's event loop.
final class TLSBuffers {
  /// The allocator of channels that may use TLS.
  static let allocator = ByteBufferAllocator(
    allocate: { size in
      guard size >= TLSBuffers.least else { return malloc(size) }
      return TLSBuffers.allocate(size)
    },
    reallocate: { buffer, oldSize, newSize in
      guard let buffer, TLSBuffers.isOnPages(buffer) else { return realloc(buffer, newSize) }
      let new = newSize >= TLSBuffers.least ? TLSBuffers.allocate(newSize) : malloc(newSize)
      new?.copyMemory(from: buffer, byteCount: min(oldSize, newSize))
      TLSBuffers.deallocate(buffer)
      return new
    },
    deallocate: { TLSBuffers.isOnPages($0) ? TLSBuffers.deallocate($0) : free($0) },
    copy: { $0.copyMemory(from: $1, byteCount: $2) })

  /// The size from which on a buffer has pages of its own: that of a TLS record.
  private static let least = 16_384
  private static let page = 4_096

  /// The owner of each buffer, by address, that was allocated within `init(_:)` and is not freed yet.
  private static let owners = Mutex<[UInt: ObjectIdentifier]>([:])
  /// The owner to be of what the current thread allocates.
  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    precondition(pthread_key_create(&key, nil) == 0, "a thread has room for a value")
    return key
  }()

  /// The sizes of the buffers, by address.
  private var buffers: [UInt: Int] = [:]

  /// - Parameter body: adds the TLS handler, which allocates its buffers.
  init(_ body: () throws -> Void) rethrows {
    pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
    defer { pthread_setspecific(Self.key, nil) }
    try body()
  }

  deinit {
    let (me, addresses) = (ObjectIdentifier(self), Array(buffers.keys))
    Self.owners.withLock { owners in
      for address in addresses where owners[address] == me { owners[address] = nil }
    }
  }

  /// Gives the memory back. The buffers must be empty: all that was encrypted has been taken by the system, and all that was
  /// decrypted has been read.
  func release() {
    let (me, buffers) = (ObjectIdentifier(self), buffers)
    Self.owners.withLock { owners in
      for (address, size) in buffers where owners[address] == me {
        madvise(UnsafeMutableRawPointer(bitPattern: address), size, MADV_DONTNEED)
      }
    }
  }

  private static func allocate(_ size: Int) -> UnsafeMutableRawPointer? {
    // Whole pages, which nothing else stands on.
    let size = (size + page - 1) & ~(page - 1)
    var buffer: UnsafeMutableRawPointer?
    guard posix_memalign(&buffer, page, size) == 0, let buffer else { return nil }
    if let owner = pthread_getspecific(key) {
      let owner = Unmanaged<TLSBuffers>.fromOpaque(owner).takeUnretainedValue()
      let (address, me) = (UInt(bitPattern: buffer), ObjectIdentifier(owner))
      owner.buffers[address] = size
      owners.withLock { $0[address] = me }
    }
    return buffer
  }

  private static func isOnPages(_ buffer: UnsafeMutableRawPointer) -> Bool {
    UInt(bitPattern: buffer) & UInt(page - 1) == 0
  }

  private static func deallocate(_ buffer: UnsafeMutableRawPointer) {
    let address = UInt(bitPattern: buffer)
    owners.withLock { $0[address] = nil }
    free(buffer)
  }
}
