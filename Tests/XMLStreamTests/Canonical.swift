@testable import XMLStream

/// A tree in a form that two parsers can be compared by: names in Clark
/// notation, attributes sorted, adjacent text joined, everything delimited by
/// lengths.
struct Canonical {
  private(set) var text = ""
  private var pending = ""

  mutating func open(
    _ namespace: String, _ local: String, _ attributes: [(namespace: String, local: String, value: String)]
  ) {
    flush()
    text += "<{\(namespace)}\(local)"
    for line in attributes.map({ " {\($0.namespace)}\($0.local)=\($0.value.utf8.count):\($0.value)" }).sorted() {
      text += line
    }
    text += ">"
  }

  mutating func close() {
    flush()
    text += "</>"
  }

  mutating func characters(_ characters: String) { pending += characters }

  private mutating func flush() {
    if !pending.isEmpty { text += "\(pending.utf8.count):\(pending)" }
    pending = ""
  }

  /// The tree of an element of ours.
  static func text(of element: Element) -> String {
    var canonical = Canonical()
    canonical.add(element)
    return canonical.text
  }

  private mutating func add(_ element: Element) {
    open(element.namespace, element.local, element.attributes.map { ($0.namespace, $0.local, $0.value) })
    element.read { nodes, at, bytes in
      var child = at + 1 + Int(nodes[at].attributeCount)
      while child < Int(nodes[at].extent) {
        if nodes[child].kind == .element {
          add(Element(arena: element.arena, index: child))
          child = Int(nodes[child].extent)
        } else {
          characters(String(decoding: slice(bytes, nodes[child].value, Int(nodes[child].extent)), as: UTF8.self))
          child += 1
        }
      }
    }
    close()
  }
}
