public import Dialogs
import NIOCore
import XMLStream
import XMPP

/// Reads a message from XMPP, and replaces its text: the body is replaced, and elements that repeat the text in another form or
/// count the old body's characters are removed (XEP-0071, XEP-0372, XEP-0393, XEP-0394, XEP-0428).
public struct BeforeSendRewriting: ContentRewriting {
  private let table = Features.table()

  public init() {}

  private static let gone: Set<String> = [
    "http://jabber.org/protocol/xhtml-im", "urn:xmpp:reference:0", "urn:xmpp:styling:0", "urn:xmpp:markup:0",
    "urn:xmpp:fallback:0", "urn:xmpp:feature-fallback:0",
  ]

  public func content(of extras: [UInt8]) -> Content? {
    // What cannot be read is asked about all the same.
    guard let message = Self.message(extras), let draft = try? Inbound.draft(of: message, table) else {
      return Content(kind: .text)
    }
    let content = draft.content(extras, nil)
    return content.kind == .none ? nil : content
  }

  public func extras(_ extras: [UInt8], saying text: String) -> [UInt8] {
    var writer = StreamFraming.writer()
    writer.element(.body) { $0.text(text) }
    // Otherwise the new body alone is sent.
    if let message = Self.message(extras) {
      writer.children(of: message) { $0.is(.body) || Self.gone.contains($0.namespace) }
    }
    return Array(writer.buffer.readableBytesView)
  }

  /// Returns a message with these children, which were written by this door and are well-formed. They may have more bytes and
  /// declarations than the stanza had, as each is complete with its namespace.
  private static func message(_ extras: [UInt8]) -> Element? {
    var limits = ReaderLimits.authenticated
    limits.stanzaBytes = ReaderLimits.stanzaBytesMax
    limits.declarations = .max
    return try? Element(parsing: Array("<message>".utf8) + extras + Array("</message>".utf8), limits: limits)
  }
}
