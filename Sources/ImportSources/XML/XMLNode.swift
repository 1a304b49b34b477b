/// An element that was read whole.
struct XMLNode: Sendable, Equatable {
  struct Attribute: Sendable, Equatable {
    var name: String
    /// Empty for none.
    var namespace: String
    var value: String
    /// The prefix of the namespace in the source; empty for none, and where the source does not say. It is kept, so that what
    /// this server has exported is the same, byte for byte, when it comes back.
    var prefix = ""
  }
  enum Child: Sendable, Equatable {
    case node(XMLNode)
    case text(String)
  }

  var name: String
  var namespace: String
  var attributes: [Attribute]
  var children: [Child] = []

  init(_ name: String, _ namespace: String, _ attributes: [Attribute] = [], children: [Child] = []) {
    self.name = name
    self.namespace = namespace
    self.attributes = attributes
    self.children = children
  }

  func `is`(_ name: String, _ namespace: String) -> Bool { self.name == name && self.namespace == namespace }

  subscript(_ name: String) -> String? {
    attributes.first { $0.name == name && $0.namespace.isEmpty }?.value
  }

  subscript(_ name: String, _ namespace: String) -> String? {
    attributes.first { $0.name == name && $0.namespace == namespace }?.value
  }

  /// The child elements.
  var nodes: [XMLNode] { children.compactMap { if case .node(let node) = $0 { node } else { nil } } }

  func first(_ name: String, _ namespace: String) -> XMLNode? { nodes.first { $0.is(name, namespace) } }

  /// The text of the element itself.
  var text: String {
    children.reduce(into: "") { if case .text(let text) = $1 { $0 += text } }
  }

  // MARK: Writing

  /// Returns the element as text that is complete with its namespaces.
  var xml: String {
    var text = ""
    write(into: &text, within: "")
    return text
  }

  /// Returns the child elements, complete with their namespaces.
  var childrenXML: String {
    var text = ""
    for node in nodes { node.write(into: &text, within: "") }
    return text
  }

  /// Adds the element to a digest (FNV-1a), without writing it. Texts that follow each other are one.
  func combine(into digest: inout UInt64) {
    func add(_ byte: UInt8) { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01b3 }
    func add(_ text: String) {
      var text = text
      text.withUTF8 { for byte in $0 { add(byte) } }
    }
    // Bytes that are in no text stand between them.
    add(0xFE)
    for text in [name, namespace] + attributes.flatMap({ [$0.name, $0.namespace, $0.value] }) {
      add(text)
      add(0xFF)
    }
    for child in children {
      switch child {
      case .node(let node): node.combine(into: &digest)
      case .text(let text): add(text)
      }
    }
    add(0xFD)
  }

  private func write(into text: inout String, within outer: String) {
    text += "<\(name)"
    if namespace != outer { text += " xmlns='\(Self.escaped(namespace))'" }
    var declared: Set<String> = []
    for (index, attribute) in attributes.enumerated() {
      switch attribute.namespace {
      case "": text += " \(attribute.name)='\(Self.escaped(attribute.value))'"
      case "http://www.w3.org/XML/1998/namespace": text += " xml:\(attribute.name)='\(Self.escaped(attribute.value))'"
      default:
        let prefix = attribute.prefix.isEmpty ? "a\(index)" : attribute.prefix
        if declared.insert(prefix).inserted { text += " xmlns:\(prefix)='\(Self.escaped(attribute.namespace))'" }
        text += " \(prefix):\(attribute.name)='\(Self.escaped(attribute.value))'"
      }
    }
    if children.isEmpty {
      text += "/>"
      return
    }
    text += ">"
    for child in children {
      switch child {
      case .node(let node): node.write(into: &text, within: namespace)
      case .text(let content): text += Self.escaped(content)
      }
    }
    text += "</\(name)>"
  }

  static func escaped(_ text: String) -> String {
    guard text.utf8.contains(where: { $0 == 0x26 || $0 == 0x3C || $0 == 0x3E || $0 == 0x27 || $0 == 0x0D }) else {
      return text
    }
    var escaped: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case 0x26: escaped += "&amp;".utf8
      case 0x3C: escaped += "&lt;".utf8
      case 0x3E: escaped += "&gt;".utf8
      case 0x27: escaped += "&apos;".utf8
      case 0x0D: escaped += "&#13;".utf8
      default: escaped.append(byte)
      }
    }
    return String(decoding: escaped, as: UTF8.self)
  }
}
