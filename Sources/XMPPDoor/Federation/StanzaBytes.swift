import NIOCore
import XMLStream
import XMPP

/// Makes stanzas of what a writer writes, as they would be read from a stream.
enum StanzaBytes {
  /// The header of a stream of clients' namespace, behind which stanzas are read.
  private static let header: StaticString =
    "<stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' version='1.0'>"

  /// Returns a reader that expects stanzas.
  static func reader() -> ElementReader {
    var reader = ElementReader(limits: .authenticated)
    let bytes = UnsafeRawBufferPointer(start: header.utf8Start, count: header.utf8CodeUnitCount)
    reader.feed(bytes) { _ in .proceed }
    return reader
  }

  /// Returns what is written.
  static func bytes(_ body: (inout ElementWriter) -> Void) -> [UInt8] {
    var writer = StreamFraming.writer()
    body(&writer)
    return Array(writer.buffer.readableBytesView)
  }

  /// Returns the one stanza that is written.
  static func stanza(_ body: (inout ElementWriter) -> Void) -> Stanza? {
    var writer = StreamFraming.writer()
    body(&writer)
    var reader = reader()
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
