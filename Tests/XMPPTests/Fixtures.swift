import NIOCore
import XMLStream

@testable import XMPP

/// An element as it stands on a client stream: `jabber:client` is the default namespace.
func element(_ xml: String) throws -> Element { try Element(parsing: xml.utf8) }

/// A stanza as it stands on a client stream of this language.
func stanza(_ xml: String, on language: String? = nil) throws -> Stanza {
  guard let stanza = Stanza(try element(xml), streamLanguage: language) else { throw NotAStanza(xml: xml) }
  return stanza
}

struct NotAStanza: Error { let xml: String }

/// Returns the output at the top level of a client stream; framed, as a document of its own.
func written(framing: StreamFraming = .document, _ body: (inout ElementWriter) -> Void) -> String {
  var writer = StreamFraming.writer()
  body(&writer)
  if framing == .document { return String(buffer: writer.buffer) }
  var alone = ByteBuffer()
  StreamFraming.writeStandAlone(writer.buffer.readableBytesView, into: &alone)
  return String(buffer: alone)
}

/// The header of a stream, read as from a connection.
func header(_ xml: String) throws -> StreamHeader {
  var reader = ElementReader(limits: .unauthenticated)
  var found: StreamHeader?
  var violation: XMLViolation?
  let bytes = Array(xml.utf8)
  bytes.withUnsafeBytes { bytes in
    _ = reader.feed(bytes) { event in
      switch event {
      case .opened(let header): found = header
      case .violation(let fault): violation = fault
      case .element, .closed, .whitespace: break
      }
      return .proceed
    }
  }
  if let violation { throw violation }
  guard let found else { throw NotAStanza(xml: xml) }
  return found
}

/// A proper client header.
func clientHeader(
  to: String? = "im.example.com", from: String? = nil, version: String? = "1.0", language: String? = nil
) throws -> StreamHeader {
  var xml = "<?xml version='1.0'?><stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'"
  if let to { xml += " to='\(to)'" }
  if let from { xml += " from='\(from)'" }
  if let version { xml += " version='\(version)'" }
  if let language { xml += " xml:lang='\(language)'" }
  return try header(xml + ">")
}

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
