import NIOCore
import XMLStream
import XMPP

/// Converts the output of a writer to stanzas, as they would be read from a stream.
enum StanzaBytes {
  /// A stream header with the namespace of clients, which the reader needs before stanzas.
  private static let header: StaticString =
    "<stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' version='1.0'>"

  /// Returns a reader that expects stanzas.
  static func reader(_ limits: ReaderLimits = .authenticated) -> ElementReader {
    var reader = ElementReader(limits: limits)
    let bytes = UnsafeRawBufferPointer(start: header.utf8Start, count: header.utf8CodeUnitCount)
    reader.feed(bytes) { _ in .proceed }
    return reader
  }

  /// Returns whether the stanza in a buffer behind an index has at most so many bytes, and at most the records that a server
  /// reads (`ReaderLimits.authenticated`). A stanza can exceed them when it is passed on, and a list at any time. The other
  /// server would end the stream at such a stanza, and again each time it is repeated, and never get those behind it.
  static func isReadable(_ buffer: ByteBuffer, from start: Int, bytesMax: Int) -> Bool {
    let count = buffer.writerIndex - start
    guard count <= bytesMax else { return false }
    var limits = ReaderLimits.authenticated
    // Two records have at least five bytes (`<a/>x`), so few stanzas are long enough to be counted.
    guard count > limits.records / 2 * 5 else { return true }
    // Only records are counted here; the peer has its own limit of bytes.
    limits.stanzaBytes = ReaderLimits.stanzaBytesMax
    var reader = reader(limits)
    var isRead = true
    _ = buffer.withUnsafeReadableBytes { bytes in
      reader.feed(UnsafeRawBufferPointer(rebasing: bytes.suffix(count))) { event in
        if case .violation = event { isRead = false }
        return .proceed
      }
    }
    return isRead
  }

  /// Returns the bytes that are written.
  static func bytes(_ body: (inout ElementWriter) -> Void) -> [UInt8] {
    var writer = StreamFraming.writer()
    body(&writer)
    return Array(writer.buffer.readableBytesView)
  }

  /// Returns the stanza that is written, of any size: even a stanza that is too large to be sent is answered.
  static func stanza(_ body: (inout ElementWriter) -> Void) -> Stanza? {
    var writer = StreamFraming.writer()
    body(&writer)
    var limits = ReaderLimits.authenticated
    limits.stanzaBytes = ReaderLimits.stanzaBytesMax
    limits.records = .max
    var reader = reader(limits)
    var found: Stanza?
    _ = writer.buffer.withUnsafeReadableBytes { bytes in
      reader.feed(bytes) { event in
        if case .element(let element) = event { found = Stanza(element) }
        return .proceed
      }
    }
    return found
  }
}
