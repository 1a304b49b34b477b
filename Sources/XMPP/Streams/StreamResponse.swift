public import NIOCore
public import XMLStream

/// The framing of a stream.
public enum StreamFraming: Sendable, Equatable {
  /// One XML document per stream over TCP or TLS (RFC 6120 4).
  case document
  /// One XML document per WebSocket message (RFC 7395 3.3).
  case messages
  /// Elements in the bodies of HTTP requests and responses, whose attributes replace headers (XEP-0206 2, 5).
  case bodies

  /// Returns a writer for the top level of a stream, where stanzas, features and errors go, as in a document. The other
  /// framings adapt each element with `writeStandAlone`.
  public static func writer() -> ElementWriter {
    ElementWriter(defaultNamespace: "jabber:client", isStreamPrefixDeclared: true)
  }

  /// Appends an element written at the top level of a document as it stands alone: with the declarations of the header
  /// (RFC 7395 3.3.3). The bytes are the same otherwise.
  public static func writeStandAlone(_ element: ByteBufferView, into buffer: inout ByteBuffer) {
    let end = element.firstIndex { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: ">") || $0 == UInt8(ascii: "/") }
    guard let nameEnd = end else { return }
    buffer.writeBytes(element[..<nameEnd])
    if isStanza(element[element.index(after: element.startIndex)..<nameEnd]) {
      buffer.writeStaticString(" xmlns='jabber:client'")
    }
    if needsStreamPrefix(element) { buffer.writeStaticString(" xmlns:stream='http://etherx.jabber.org/streams'") }
    buffer.writeBytes(element[nameEnd...])
  }

  private static let stanzas = [Array("message".utf8), Array("presence".utf8), Array("iq".utf8)]

  /// Returns whether a name is a stanza's: every other top-level element declares its own namespace.
  private static func isStanza(_ name: ByteBufferView) -> Bool {
    stanzas.contains { name.elementsEqual($0) }
  }

  /// Returns whether the prefix is used anywhere, as far as a look at the bytes tells.
  private static func needsStreamPrefix(_ element: ByteBufferView) -> Bool {
    let prefix: StaticString = "stream"
    return element.withUnsafeBytes { bytes in
      let name = UnsafeRawBufferPointer(start: prefix.utf8Start, count: prefix.utf8CodeUnitCount)
      var from = name.count
      while from < bytes.count, let colon = bytes[from...].firstIndex(of: UInt8(ascii: ":")) {
        if bytes[colon - name.count..<colon].elementsEqual(name) { return true }
        from = colon + 1
      }
      return false
    }
  }

  /// Writes the closing tag (RFC 6120 4.4) or its frame (RFC 7395 3.6).
  public func writeClose(into writer: inout ElementWriter) {
    switch self {
    case .document: writer.raw("</stream:stream>")
    case .messages: writer.element(Name("close", NS.framing))
    case .bodies: break
    }
  }

  /// Writes `<stream:features/>` (RFC 6120 4.3.2).
  public func writeFeatures(_ features: [StreamFeature], into writer: inout ElementWriter) {
    writer.element(.streamFeatures) { writer in
      for feature in features { writer.element(feature.element) }
    }
  }
}

/// A stream header of this server (RFC 6120 4.7): the response to a peer's, or the initial one of a stream to another
/// server.
public struct StreamResponse: Sendable, Equatable {
  /// The domain that answers or asks; empty if none was requested and there is no default (RFC 6120 4.9.1.3).
  public var from: String
  /// The bare JID that the client claims, or the domain of a server; `nil` if it sent none (RFC 6120 4.7.2).
  public var to: String?
  /// The stream id: random, never reused (RFC 6120 4.7.3); `nil` in an initial header.
  public var id: String?
  /// The language of the server's texts (RFC 6120 4.7.4).
  public var language: String
  /// Whether the client uses XMPP 1.0: `version` is left out for others (RFC 6120 4.7.5 rule 4).
  public var isVersioned: Bool
  /// The content namespace (RFC 6120 4.8.2).
  public var content: StaticString

  public init(
    from: String, to: String?, id: String?, language: String, isVersioned: Bool, content: StaticString = NS.client
  ) {
    self.from = from
    self.to = to
    self.id = id
    self.language = language
    self.isVersioned = isVersioned
    self.content = content
  }

  /// Returns the initial header of a stream to another server.
  public static func initial(from: String, to: String, language: String) -> StreamResponse {
    StreamResponse(from: from, to: to, id: nil, language: language, isVersioned: true, content: NS.server)
  }

  /// Whether the stream is one between servers, on which the prefix `db` is declared: it advertises dialback (XEP-0220
  /// 2.4.1).
  private var declaresDialback: Bool { String(describing: content) == String(describing: NS.server) }

  public static func == (a: Self, b: Self) -> Bool {
    a.from == b.from && a.to == b.to && a.id == b.id && a.language == b.language && a.isVersioned == b.isVersioned
      && String(describing: a.content) == String(describing: b.content)
  }

  /// Writes the header: for a document with its XML declaration and left open, for messages as `<open/>`.
  public func write(framing: StreamFraming, into writer: inout ElementWriter) {
    switch framing {
    case .bodies: break
    case .messages:
      writer.element(Name("open", NS.framing)) { writer in
        writer.attribute("from", from)
        writer.attribute("to", to)
        writer.attribute("id", id)
        if isVersioned { writer.attribute("version", "1.0" as StaticString) }
        writer.attribute("xml:lang", language)
      }
    case .document:
      writer.raw("<?xml version='1.0'?><stream:stream xmlns='")
      writer.raw(content)
      writer.raw("' xmlns:stream='http://etherx.jabber.org/streams'")
      if declaresDialback {
        writer.raw(" xmlns:db='")
        writer.raw(NS.dialback)
        writer.raw("'")
      }
      writer.rawAttribute(" from='", from)
      if let to { writer.rawAttribute(" to='", to) }
      if let id { writer.rawAttribute(" id='", id) }
      if isVersioned { writer.raw(" version='1.0'") }
      writer.rawAttribute(" xml:lang='", language)
      writer.raw(">")
    }
  }
}

extension ElementWriter {
  /// Writes an attribute of a tag written by hand (one that stays open, or has a prefix), up to its closing quotation
  /// mark.
  mutating func rawAttribute(_ start: StaticString, _ value: String) {
    raw(start)
    for byte in value.utf8 {
      switch byte {
      case UInt8(ascii: "&"): raw("&amp;")
      case UInt8(ascii: "<"): raw("&lt;")
      case UInt8(ascii: ">"): raw("&gt;")
      case UInt8(ascii: "'"): raw("&apos;")
      case UInt8(ascii: "\""): raw("&quot;")
      default: raw(CollectionOfOne(byte))
      }
    }
    raw("'")
  }
}
