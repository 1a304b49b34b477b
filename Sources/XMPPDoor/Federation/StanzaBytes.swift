import NIOCore
import XMLStream
import XMPP

/// Makes stanzas of what a writer writes, as they would be read from a stream.
enum StanzaBytes {
  /// The header of a stream of clients' namespace, behind which stanzas are read.
  private static let header: StaticString =
    "<stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' version='1.0'>"

  /// Returns a reader that expects stanzas.
  static func reader(_ limits: ReaderLimits = .authenticated) -> ElementReader {
    var reader = ElementReader(limits: limits)
    let bytes = UnsafeRawBufferPointer(start: header.utf8Start, count: header.utf8CodeUnitCount)
    reader.feed(bytes) { _ in .proceed }
    return reader
  }

  /// Returns whether the stanza that stands in a buffer behind an index has at most so many bytes, and at most the records that a
  /// server reads (`ReaderLimits.authenticated`). A stanza that was read has more of them when it is sent on, and a list may
  /// have any number. A server ends the stream at it, and would do so again whenever it is sent again, with all behind it.
  static func isReadable(_ buffer: ByteBuffer, from start: Int, bytesMax: Int) -> Bool {
    let count = buffer.writerIndex - start
    guard count <= bytesMax else { return false }
    var limits = ReaderLimits.authenticated
    // Two records have at least five bytes (`<a/>x`): nearly no stanza is long enough to be looked at.
    guard count > limits.records / 2 * 5 else { return true }
    // The peer has its own bound of bytes.
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

  /// Returns what is written.
  static func bytes(_ body: (inout ElementWriter) -> Void) -> [UInt8] {
    var writer = StreamFraming.writer()
    body(&writer)
    return Array(writer.buffer.readableBytesView)
  }

  /// Returns the one stanza that is written, of any size: also one that is too large to be sent has an answer.
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
