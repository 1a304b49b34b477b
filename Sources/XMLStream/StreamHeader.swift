/// The start tag of a stream's root element (RFC 6120 4.2, 4.7). The reader checks that it is well-formed, not that it
/// is XMPP's.
public struct StreamHeader: Sendable, Equatable {
  /// The start tag as an element without content, for attributes without a property here.
  public let element: Element
  /// The prefix of the root element; empty for none.
  public let prefix: String
  /// The default namespace for the stream's children, the content namespace (RFC 6120 4.8.2); empty for none.
  public let defaultNamespace: String
  /// The prefixes that the header declared, with their namespaces (RFC 6120 4.8.5).
  public let declarations: [String: String]

  /// Creates the header of a framed stream: an element of its own (RFC 7395 3.3.1).
  public init(framed element: Element) {
    self.init(element: element, prefix: "", defaultNamespace: "", declarations: [:])
  }

  init(element: Element, prefix: String, defaultNamespace: String, declarations: [String: String]) {
    self.element = element
    self.prefix = prefix
    self.defaultNamespace = defaultNamespace
    self.declarations = declarations
  }

  /// The local part of the root's name.
  public var local: String { element.local }
  /// The namespace of the root element (RFC 6120 4.8.1).
  public var namespace: String { element.namespace }
  public var to: String? { element["to"] }
  public var from: String? { element["from"] }
  public var id: String? { element["id"] }
  public var version: String? { element["version"] }
  /// The default language of the stream, its `xml:lang` (RFC 6120 4.7.4).
  public var language: String? { element.language }
}
