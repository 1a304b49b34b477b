extension Element {
  /// Builds an element. It is for slow paths and tests; output is written with ``ElementWriter`` without an `Element`
  /// in between.
  ///
  /// Attributes have no namespace, except that `xml:lang` is understood; `nil` leaves an attribute out. Text comes
  /// before the children. Names are taken as they are. More than ``ReaderLimits/attributesMax`` attributes is a
  /// programmer's error and traps.
  public init(
    _ name: Name, _ attributes: KeyValuePairs<StaticString, String?> = [:], text: String? = nil,
    _ children: [Element] = []
  ) {
    var builder = ArenaBuilder()
    let element = builder.append(Node(kind: .element))
    var node = Node(kind: .element)
    node.hash = name.hash
    (node.name, node.nameCount) = builder.store(name.local)
    (node.space, node.spaceCount) = builder.store(name.namespace)
    var count = 0
    for (attribute, value) in attributes {
      guard let value else { continue }
      builder.appendAttribute(attribute, value)
      count += 1
    }
    precondition(count <= ReaderLimits.attributesMax, "too many attributes")
    node.attributeCount = UInt8(count)
    if var text, !text.isEmpty {
      let range = text.withUTF8 { (builder.append(UnsafeRawBufferPointer($0)), $0.count) }
      builder.append(Node(value: UInt32(range.0), extent: UInt32(range.1), kind: .text))
    }
    for child in children { builder.append(child) }
    node.extent = UInt32(builder.nodeCount)
    builder.set(element, to: node)
    self.init(arena: builder.finish(), index: 0)
  }
}

extension ArenaBuilder {
  fileprivate mutating func store(_ string: StaticString) -> (UInt32, UInt16) {
    (UInt32(append(string.raw)), UInt16(string.utf8CodeUnitCount))
  }

  fileprivate mutating func set(_ index: Int, to node: Node) {
    guard let nodes, index < nodeCount else { return }
    nodes[index] = node
  }

  fileprivate mutating func appendAttribute(_ name: StaticString, _ value: String) {
    var node = Node(kind: .attribute)
    let isLanguage = equals(name.raw, "xml:lang")
    let space: StaticString = isLanguage ? XMLNamespace.xml : ""
    (node.name, node.nameCount) = store(name)
    (node.space, node.spaceCount) = store(space)
    if isLanguage {
      node.prefixCount = 3
      node.name += 4
      node.nameCount -= 4
    }
    node.hash = Name(isLanguage ? "lang" : name, space).hash
    var value = value
    let range = value.withUTF8 { (append(UnsafeRawBufferPointer($0)), $0.count) }
    (node.value, node.extent) = (UInt32(range.0), UInt32(range.1))
    append(node)
  }

  /// Copies an element of another block with all that is in it.
  fileprivate mutating func append(_ element: Element) {
    element.read { source, at, bytes in
      let shift = nodeCount - at
      var space = (from: UInt32.max, to: UInt32(0), count: UInt16(0))
      for index in at..<Int(source[at].extent) {
        var node = source[index]
        switch node.kind {
        case .element, .attribute:
          // The prefix and its colon stand before the local part.
          let prefix = node.prefixCount == 0 ? 0 : Int(node.prefixCount) + 1
          let name = slice(bytes, node.name - UInt32(prefix), prefix + Int(node.nameCount))
          node.name = UInt32(append(name) + prefix)
          if node.spaceCount > 0 {
            if space.from != node.space || space.count != node.spaceCount {
              space = (node.space, UInt32(append(slice(bytes, node.space, Int(node.spaceCount)))), node.spaceCount)
            }
            node.space = space.to
          } else {
            node.space = 0
          }
        case .text:
          break
        }
        switch node.kind {
        case .element:
          node.extent = UInt32(Int(node.extent) + shift)
        case .attribute, .text:
          node.value = UInt32(append(slice(bytes, node.value, Int(node.extent))))
        }
        append(node)
      }
    }
  }
}
