import NIOCore

extension ByteBufferView {
  /// Returns the bytes behind the XML whitespace that they begin with, of which at most `bytesMax` bytes are skipped.
  ///
  /// A reader of a stream skips the whitespace in front of a header by itself; this is for transports whose headers are
  /// documents.
  func behindWhitespace(bytesMax: Int) -> ByteBufferView {
    dropFirst(prefix(bytesMax).prefix { $0 == 0x20 || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }.count)
  }
}
