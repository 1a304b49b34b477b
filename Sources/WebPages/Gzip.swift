import CZlib

/// The compression of files that are sent many times (RFC 1952).
enum Gzip {
  /// Returns the bytes in the format of gzip; nil if they do not become fewer.
  static func compressed(_ bytes: [UInt8]) -> [UInt8]? {
    var stream = z_stream()
    guard parley_gzip_begin(&stream) == Z_OK else { return nil }
    defer { deflateEnd(&stream) }
    var input = bytes
    return input.withUnsafeMutableBufferPointer { input in
      [UInt8](unsafeUninitializedCapacity: input.count) { output, count in
        stream.next_in = input.baseAddress
        stream.avail_in = UInt32(clamping: input.count)
        stream.next_out = output.baseAddress
        stream.avail_out = UInt32(clamping: output.count)
        count = deflate(&stream, Z_FINISH) == Z_STREAM_END ? output.count - Int(stream.avail_out) : 0
      }
    }.nonEmpty
  }
}

extension Array {
  fileprivate var nonEmpty: Self? { isEmpty ? nil : self }
}
