public import Dialogs
import NIOCore
import XMLStream
import XMPP

/// Reads a message from XMPP, and replaces its text: the body is replaced, and elements that repeat the text in another form or
/// count the old body's characters are removed (XEP-0071, XEP-0372, XEP-0382, XEP-0393, XEP-0394, XEP-0428).
public struct BeforeSendRewriting: ContentRewriting {
  private let table = Features.table()

  public init() {}

  private static let html = "http://jabber.org/protocol/xhtml-im"
  private static let spoiler = "urn:xmpp:spoiler:0"
  private static let gone: Set<String> = [
    html, spoiler, "urn:xmpp:reference:0", "urn:xmpp:styling:0", "urn:xmpp:markup:0", "urn:xmpp:fallback:0",
    "urn:xmpp:feature-fallback:0",
  ]

  public func shown(_ content: Content) -> Content? {
    guard let message = Self.message(content.extras), let draft = try? Inbound.draft(of: message, table) else {
      // What cannot be read is asked about all the same.
      return content.kind == .none ? Content(kind: .text) : content
    }
    return Self.shown(content, of: message, draft)
  }

  /// Returns the same for content whose elements, the children of `message`, have been read.
  static func shown(_ content: Content, of message: Element, _ draft: Draft) -> Content? {
    var shown = content.kind == .none ? draft.content(content.extras, nil) : content
    if shown.kind == .encrypted { return shown }
    shown.text = text(of: message, draft, shown)
    if shown.kind == .none, !shown.text.isEmpty { shown.kind = .text }
    return shown.kind == .none ? nil : shown
  }

  /// Returns the texts that clients show, each once and on lines of its own. A client chooses among bodies and subjects by their language
  /// (RFC 6121 5.2.3, 5.2.4), or shows XHTML-IM in place of the body, with pictures and links; one that does not know a fallback shows
  /// the whole body. Texts of the same words are the same, and the address of a file is no text.
  private static func text(of message: Element, _ draft: Draft, _ content: Content) -> String {
    var texts: [String] = []
    var known = Set(content.attachments.map { words($0.url) })
    func add(_ text: String) {
      let plain = words(text)
      if !plain.isEmpty, known.insert(plain).inserted { texts.append(text) }
    }
    func addAddresses(in element: Element) {
      for child in element.children {
        for name: StaticString in ["src", "alt", "href", "title"] { if let text = child[name] { add(text) } }
        addAddresses(in: child)
      }
    }
    add(draft.body ?? content.text)
    for child in message.children {
      if child.is(.body) || child.is(.subject) || child.namespace == spoiler {
        add(child.text)
      } else if child.namespace == html {
        for body in child.children { add(body.allText) }
        addAddresses(in: child)
      }
    }
    return texts.joined(separator: "\n")
  }

  /// Returns the words of a text with one space between them.
  private static func words(_ text: String) -> String {
    text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }

  public func extras(_ extras: [UInt8], saying text: String) -> [UInt8] {
    var writer = StreamFraming.writer()
    writer.element(.body) { $0.text(text) }
    // Otherwise the new body alone is sent.
    if let message = Self.message(extras) {
      writer.children(of: message) { $0.is(.body) || $0.is(.subject) || Self.gone.contains($0.namespace) }
    }
    return Array(writer.buffer.readableBytesView)
  }

  /// Returns a message with these children, which were written by this door and are well-formed. They may have more bytes and
  /// declarations than the stanza had, as each is complete with its namespace.
  private static func message(_ extras: [UInt8]) -> Element? {
    var limits = ReaderLimits.authenticated
    limits.stanzaBytes = ReaderLimits.stanzaBytesMax
    limits.declarations = .max
    limits.records = .max
    return try? Element(parsing: Array("<message>".utf8) + extras + Array("</message>".utf8), limits: limits)
  }
}
