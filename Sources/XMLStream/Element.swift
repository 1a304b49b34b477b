/// One element, parsed or built: a stanza, or any element within one.
///
/// It is a value of two words: the block that holds the whole top-level element, and an index into it. Sub-elements
/// share the block (and keep all of it alive). It is immutable. Nothing here allocates except what returns a `String`,
/// an array or a built element. A block is written before the first `Element` of it exists, and never again.
///
///     let message = try Element(xml: "<message xmlns='jabber:client' to='romeo@a.example'><body>Hi</body></message>")
///     message["to"]                                       // romeo@a.example
///     message.first(Name("body", "jabber:client"))?.text  // Hi
public struct Element: @unchecked Sendable {  // immutable; only `ManagedBuffer` cannot be `Sendable`
  let arena: Arena
  let index: UInt32

  @inline(__always)
  init(arena: Arena, index: Int) {
    self.arena = arena
    self.index = UInt32(truncatingIfNeeded: index)
  }

  @inline(__always)
  func read<R>(_ body: (_ nodes: UnsafePointer<Node>, _ at: Int, _ bytes: UnsafeRawPointer) throws -> R) rethrows -> R {
    try arena.read { nodes, bytes in try body(nodes, Int(index), bytes) }
  }
}

// MARK: - Name

extension Element {
  /// The local part of the name.
  public var local: String {
    read { nodes, at, bytes in string(bytes, nodes[at].name, Int(nodes[at].nameCount)) }
  }

  /// The namespace name; empty for none.
  public var namespace: String {
    read { nodes, at, bytes in string(bytes, nodes[at].space, Int(nodes[at].spaceCount)) }
  }

  /// Returns whether the element has this name.
  public func `is`(_ name: Name) -> Bool {
    read { nodes, at, bytes in matches(nodes + at, bytes, name) }
  }

  /// The hash of the name, the same function as ``Name/hash``. Lets a dispatcher select by hash and then confirm with
  /// ``is(_:)``.
  public var nameHash: UInt64 {
    read { nodes, at, _ in nodes[at].hash }
  }

  /// The bytes of the element as it was received, from `<` to the last `>`. For a built element, of its serialised
  /// form, which is made to find out.
  public var byteCount: Int {
    let count = read { nodes, at, _ in Int(nodes[at].value) }
    return count > 0 ? count : serialised().count
  }

  /// The memory that a received element takes, in bytes: its records, and the bytes that they refer to, which are about
  /// those of its source.
  public var heldBytes: Int {
    read { nodes, at, _ in (Int(nodes[at].extent) - at) * MemoryLayout<Node>.stride + Int(nodes[at].value) }
  }
}

extension Element {
  /// Calls `body` with the decoded bytes of the whole top-level element: all names, namespaces, values and texts, in no order. They live
  /// as long as the call.
  public func withDecodedBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    let count = arena.header.byteCount
    return try read { _, _, bytes in try body(UnsafeRawBufferPointer(start: bytes, count: count)) }
  }
}

// MARK: - Attributes

extension Element {
  /// One attribute as strings.
  public struct Attribute: Sendable, Equatable {
    public let local: String
    /// The namespace name; empty for none. The default namespace does not apply to attributes.
    public let namespace: String
    public let value: String
  }

  /// All attributes in document order, namespace declarations excluded.
  public var attributes: [Attribute] {
    read { nodes, at, bytes in
      let first = nodes + at + 1
      return (0..<Int(nodes[at].attributeCount)).map { offset in
        let node = first[offset]
        return Attribute(
          local: string(bytes, node.name, Int(node.nameCount)),
          namespace: string(bytes, node.space, Int(node.spaceCount)),
          value: string(bytes, node.value, Int(node.extent)))
      }
    }
  }

  /// Returns the value of an attribute without a prefix.
  public subscript(_ attribute: StaticString) -> String? {
    read { nodes, at, bytes in
      guard let found = find(nodes + at, bytes, attribute.raw) else { return nil }
      return string(bytes, found.pointee.value, Int(found.pointee.extent))
    }
  }

  /// Returns the value of an attribute in a namespace.
  public func attribute(_ local: StaticString, namespace: StaticString) -> String? {
    read { nodes, at, bytes in
      guard let found = find(nodes + at, bytes, local.raw, namespace.raw) else { return nil }
      return string(bytes, found.pointee.value, Int(found.pointee.extent))
    }
  }

  /// The `xml:lang` of this element itself, not inherited (RFC 6120 4.7.4).
  public var language: String? { attribute("lang", namespace: XMLNamespace.xml) }

  /// Returns whether an attribute without a prefix is there and has this value.
  public func has(_ attribute: StaticString, equalTo value: StaticString) -> Bool {
    withAttribute(attribute) { bytesEqual($0, value.raw) } ?? false
  }

  /// Calls `body` with the bytes of an attribute without a prefix, references resolved. The bytes are valid UTF-8 and
  /// live as long as the call.
  public func withAttribute<R>(_ attribute: StaticString, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R? {
    try read { nodes, at, bytes in
      guard let found = find(nodes + at, bytes, attribute.raw) else { return nil }
      return try body(slice(bytes, found.pointee.value, Int(found.pointee.extent)))
    }
  }
}

// MARK: - Content

extension Element {
  /// The child elements in document order.
  public var children: Children { Children(of: self) }

  /// Returns the first child element of a name.
  public func first(_ name: Name) -> Element? {
    read { nodes, at, bytes in
      let end = Int(nodes[at].extent)
      var child = at + 1 + Int(nodes[at].attributeCount)
      while child < end {
        let node = nodes + child
        if node.pointee.kind == .element {
          if matches(node, bytes, name) { return Element(arena: arena, index: child) }
          child = Int(node.pointee.extent)
        } else {
          child += 1
        }
      }
      return nil
    }
  }

  /// The character data directly within the element, without that of child elements.
  public var text: String { withText { String(decoding: $0, as: UTF8.self) } }

  /// Whether there is character data directly within the element.
  public var hasText: Bool { withText { $0.count > 0 } }

  /// Calls `body` with ``text`` as bytes: valid UTF-8, alive for the call. Copied only if child elements split the
  /// text.
  public func withText<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try read { nodes, at, bytes in
      let end = Int(nodes[at].extent)
      var child = at + 1 + Int(nodes[at].attributeCount)
      var only: UnsafePointer<Node>?
      var joined: [UInt8] = []
      while child < end {
        let node = nodes + child
        if node.pointee.kind == .element {
          child = Int(node.pointee.extent)
          continue
        }
        if let first = only {
          if joined.isEmpty { joined.append(contentsOf: slice(bytes, first.pointee.value, Int(first.pointee.extent))) }
          joined.append(contentsOf: slice(bytes, node.pointee.value, Int(node.pointee.extent)))
        } else {
          only = node
        }
        child += 1
      }
      if !joined.isEmpty { return try joined.withUnsafeBytes(body) }
      guard let only else { return try body(UnsafeRawBufferPointer(start: nil, count: 0)) }
      return try body(slice(bytes, only.pointee.value, Int(only.pointee.extent)))
    }
  }

  /// The character data within the element and within the elements in it, in document order.
  public var allText: String {
    read { nodes, at, bytes in
      let end = Int(nodes[at].extent)
      var text: [UInt8] = []
      var next = at
      while next < end {
        if nodes[next].kind == .element {
          next += 1 + Int(nodes[next].attributeCount)
        } else {
          text.append(contentsOf: slice(bytes, nodes[next].value, Int(nodes[next].extent)))
          next += 1
        }
      }
      return String(decoding: text, as: UTF8.self)
    }
  }

  /// The child elements of an element.
  public struct Children: Sequence, Sendable {
    let parent: Element

    init(of parent: Element) { self.parent = parent }

    public func makeIterator() -> Iterator { Iterator(parent) }

    public var isEmpty: Bool {
      var iterator = makeIterator()
      return iterator.next() == nil
    }

    public struct Iterator: IteratorProtocol {
      private let arena: Arena
      private var at: Int
      private let end: Int

      init(_ parent: Element) {
        arena = parent.arena
        (at, end) = parent.read { nodes, at, _ in (at + 1 + Int(nodes[at].attributeCount), Int(nodes[at].extent)) }
      }

      public mutating func next() -> Element? {
        arena.read { nodes, _ in
          while at < end {
            let found = at
            if nodes[found].kind == .element {
              at = Int(nodes[found].extent)
              return Element(arena: arena, index: found)
            }
            at += 1
          }
          return nil
        }
      }
    }
  }
}

// MARK: - Equality and text form

extension Element: Equatable {
  /// Compares structurally: the same name, attributes in any order, and content in the same order. Prefixes do not
  /// matter.
  public static func == (a: Element, b: Element) -> Bool {
    a.read { aNodes, aAt, aBytes in
      b.read { bNodes, bAt, bBytes in
        same(aNodes, aAt, aBytes, bNodes, bAt, bBytes)
      }
    }
  }
}

extension Element: CustomStringConvertible {
  /// The element as XML, every namespace declared.
  public var description: String { String(decoding: serialised(defaultNamespace: ""), as: UTF8.self) }
}

// MARK: - Reading records

/// The namespaces that every document knows (Namespaces in XML 1.0, 3), and the one that contents of streams are read in.
enum XMLNamespace {
  static let client: StaticString = "jabber:client"
  static let xml: StaticString = "http://www.w3.org/XML/1998/namespace"
  static let xmlns: StaticString = "http://www.w3.org/2000/xmlns/"
}

@inline(__always)
func slice(_ bytes: UnsafeRawPointer, _ offset: UInt32, _ count: Int) -> UnsafeRawBufferPointer {
  UnsafeRawBufferPointer(start: bytes + Int(offset), count: count)
}

private func string(_ bytes: UnsafeRawPointer, _ offset: UInt32, _ count: Int) -> String {
  String(decoding: slice(bytes, offset, count), as: UTF8.self)
}

@inline(__always)
private func matches(_ node: UnsafePointer<Node>, _ bytes: UnsafeRawPointer, _ name: Name) -> Bool {
  node.pointee.hash == name.hash
    && bytesEqual(slice(bytes, node.pointee.name, Int(node.pointee.nameCount)), name.local.raw)
    && bytesEqual(slice(bytes, node.pointee.space, Int(node.pointee.spaceCount)), name.namespace.raw)
}

/// Returns the attribute of `element` with this name; without a namespace unless given.
@inline(__always)
private func find(
  _ element: UnsafePointer<Node>, _ bytes: UnsafeRawPointer, _ local: UnsafeRawBufferPointer,
  _ namespace: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
) -> UnsafePointer<Node>? {
  var node = element
  for _ in 0..<element.pointee.attributeCount {
    node += 1
    if Int(node.pointee.nameCount) == local.count, Int(node.pointee.spaceCount) == namespace.count,
      bytesEqual(slice(bytes, node.pointee.name, local.count), local),
      bytesEqual(slice(bytes, node.pointee.space, namespace.count), namespace)
    {
      return node
    }
  }
  return nil
}

private func same(
  _ a: UnsafePointer<Node>, _ aAt: Int, _ aBytes: UnsafeRawPointer,
  _ b: UnsafePointer<Node>, _ bAt: Int, _ bBytes: UnsafeRawPointer
) -> Bool {
  let (x, y) = (a[aAt], b[bAt])
  guard x.hash == y.hash, x.attributeCount == y.attributeCount,
    bytesEqual(slice(aBytes, x.name, Int(x.nameCount)), slice(bBytes, y.name, Int(y.nameCount))),
    bytesEqual(slice(aBytes, x.space, Int(x.spaceCount)), slice(bBytes, y.space, Int(y.spaceCount)))
  else { return false }
  for offset in 0..<Int(x.attributeCount) {
    let node = a[aAt + 1 + offset]
    guard
      let other = find(
        b + bAt, bBytes, slice(aBytes, node.name, Int(node.nameCount)), slice(aBytes, node.space, Int(node.spaceCount))),
      bytesEqual(
        slice(aBytes, node.value, Int(node.extent)), slice(bBytes, other.pointee.value, Int(other.pointee.extent)))
    else { return false }
  }
  var (i, j) = (aAt + 1 + Int(x.attributeCount), bAt + 1 + Int(y.attributeCount))
  while i < Int(x.extent), j < Int(y.extent) {
    guard a[i].kind == b[j].kind else { return false }
    if a[i].kind == .element {
      guard same(a, i, aBytes, b, j, bBytes) else { return false }
      i = Int(a[i].extent)
      j = Int(b[j].extent)
    } else {
      guard bytesEqual(slice(aBytes, a[i].value, Int(a[i].extent)), slice(bBytes, b[j].value, Int(b[j].extent))) else {
        return false
      }
      i += 1
      j += 1
    }
  }
  return i == Int(x.extent) && j == Int(y.extent)
}
