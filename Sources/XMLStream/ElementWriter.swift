public import NIOCore

/// Writes XML into a `ByteBuffer`, for a stream or for a document of its own.
///
/// Namespaces: elements are written without prefixes; `xmlns` is written where an element's namespace differs from the
/// default namespace in scope (RFC 6120 4.8.5 forbids prefixes for the content namespace). Prefixed attributes of an
/// ``Element`` keep their prefix and get its declaration.
///
/// Whatever the arguments hold, the output is well-formed in its characters: markup is escaped, and a character that
/// XML 1.0 forbids (2.2) becomes U+FFFD. Names given as `StaticString` are trusted.
///
///     var writer = ElementWriter()
///     writer.open(Name("message", "jabber:client"))
///     writer.attribute("to", "romeo@example.org")
///     writer.close()
public struct ElementWriter {
  public var buffer: ByteBuffer

  private var frames: [Frame] = []
  private var isTagOpen = false
  private let rootNamespace: StaticString
  private let isStreamPrefixDeclared: Bool

  private struct Frame {
    let local: StaticString
    let namespace: StaticString
    /// The default namespace for the element's content.
    let scope: StaticString
    /// The prefix of the local part in the tags.
    let prefix: StaticString
  }

  /// The namespace of streams (RFC 6120 4.8.1).
  static let streamNamespace: StaticString = "http://etherx.jabber.org/streams"

  ///
  /// - Parameters:
  ///   - buffer: the buffer to append to.
  ///   - defaultNamespace: the default namespace in scope where the output goes; empty for none.
  ///   - isStreamPrefixDeclared: whether the prefix `stream` is in scope for the namespace of streams, as it is on a
  ///     TCP stream; elements of that namespace are then written as `stream:features`, `stream:error`, which some peers
  ///     insist on (RFC 6120 4.8.5).
  public init(
    buffer: ByteBuffer = ByteBuffer(), defaultNamespace: StaticString = "jabber:client",
    isStreamPrefixDeclared: Bool = false
  ) {
    self.buffer = buffer
    self.rootNamespace = defaultNamespace
    self.isStreamPrefixDeclared = isStreamPrefixDeclared
  }

  // MARK: Elements

  /// Opens an element. Its attributes come next, then its content, then ``close()``.
  public mutating func open(_ name: Name) { open(name.local, name.namespace) }

  /// Opens an element in the namespace of its parent, at the top in the default namespace.
  public mutating func open(_ local: StaticString) { open(local, frames.last?.namespace ?? rootNamespace) }

  /// Closes the element opened last. There must be one.
  public mutating func close() {
    guard let frame = frames.popLast() else { preconditionFailure("close() without open(_:)") }
    if isTagOpen {
      isTagOpen = false
      buffer.writeStaticString("/>")
    } else {
      buffer.writeStaticString("</")
      buffer.write(frame.prefix, frame.local.raw, ">")
    }
  }

  /// Closes the element opened last with bytes made before: further attributes, each with a space before it, the
  /// content, and the end tag. They are trusted, as with ``raw(_:)``. Only attributes may have been written since.
  public mutating func close(with rest: some Sequence<UInt8>) {
    precondition(isTagOpen, "attributes come before content")
    isTagOpen = false
    frames.removeLast()
    buffer.writeBytes(rest)
  }

  /// Writes an element without attributes and content.
  public mutating func element(_ name: Name) {
    open(name)
    close()
  }

  /// Writes an element; `content` writes its attributes, then what is in it.
  @inline(__always)
  public mutating func element<Failure: Error>(
    _ name: Name, _ content: (inout ElementWriter) throws(Failure) -> Void
  ) throws(Failure) {
    open(name)
    try content(&self)
    close()
  }

  /// Writes a child element in the namespace of the element around it.
  @inline(__always)
  public mutating func element<Failure: Error>(
    _ local: StaticString, _ content: (inout ElementWriter) throws(Failure) -> Void
  ) throws(Failure) {
    open(local)
    try content(&self)
    close()
  }

  /// Writes a child element without attributes and content in the namespace of the element around it.
  public mutating func element(_ local: StaticString) {
    open(local)
    close()
  }

  /// Writes a whole element: attributes (`nil` is left out), then `content`.
  public mutating func element(
    _ name: Name, _ attributes: KeyValuePairs<StaticString, String?>,
    _ content: (inout ElementWriter) -> Void = { _ in }
  ) {
    open(name)
    for (attribute, value) in attributes { self.attribute(attribute, value) }
    content(&self)
    close()
  }

  /// Writes an element with all that is in it, with declarations that the scope lacks.
  public mutating func element(_ element: Element) {
    finishTag()
    let scope = scope.raw
    element.read { nodes, at, bytes in write(nodes, at, bytes, scope: scope) }
  }

  /// Writes the content of an element: its text and its children, without those that `isLeftOut` names. Each child gets
  /// the declarations that the scope lacks.
  public mutating func children(of element: Element, except isLeftOut: (Element) -> Bool = { _ in false }) {
    let scope = scope.raw
    element.read { nodes, at, bytes in
      let end = Int(nodes[at].extent)
      var child = at + 1 + Int(nodes[at].attributeCount)
      while child < end {
        if nodes[child].kind == .element {
          if !isLeftOut(Element(arena: element.arena, index: child)) {
            finishTag()
            write(nodes, child, bytes, scope: scope)
          }
          child = Int(nodes[child].extent)
        } else {
          finishTag()
          buffer.writeText(slice(bytes, nodes[child].value, Int(nodes[child].extent)))
          child += 1
        }
      }
    }
  }

  // MARK: Attributes

  /// Writes an attribute of the element just opened.
  public mutating func attribute(_ name: StaticString, _ value: String) {
    var value = value
    value.withUTF8 { attribute(name, UnsafeRawBufferPointer($0)) }
  }

  /// Writes an attribute unless its value is `nil`.
  public mutating func attribute(_ name: StaticString, _ value: String?) {
    if let value { attribute(name, value) }
  }

  public mutating func attribute(_ name: StaticString, _ value: StaticString) {
    attribute(name, value.raw)
  }

  /// Writes an attribute of UTF-8 bytes, not escaped; ill-formed ones become U+FFFD.
  public mutating func attribute(_ name: StaticString, _ value: some Sequence<UInt8>) {
    withBytes(of: value) { attribute(name, $0) }
  }

  public mutating func attribute(_ name: StaticString, _ value: some FixedWidthInteger) {
    attribute(name, String(value))
  }

  // MARK: Text and raw bytes

  /// Writes character data.
  public mutating func text(_ value: String) {
    finishTag()
    var value = value
    value.withUTF8 { buffer.writeText(UnsafeRawBufferPointer($0)) }
  }

  /// Writes UTF-8 bytes, not escaped; ill-formed ones become U+FFFD.
  public mutating func text(_ value: some Sequence<UInt8>) {
    finishTag()
    withBytes(of: value) { buffer.writeText($0) }
  }

  /// Writes XML unchanged: it is trusted, and made for its scope.
  public mutating func raw(_ bytes: some Sequence<UInt8>) {
    finishTag()
    buffer.writeBytes(bytes)
  }

  public mutating func raw(_ bytes: ByteBuffer) {
    finishTag()
    buffer.writeImmutableBuffer(bytes)
  }

  public mutating func raw(_ bytes: StaticString) {
    finishTag()
    buffer.writeStaticString(bytes)
  }
}

// MARK: - Pieces

extension ElementWriter {
  /// The default namespace where the next piece of content goes.
  private var scope: StaticString { frames.last?.scope ?? rootNamespace }

  private mutating func finishTag() {
    if isTagOpen {
      isTagOpen = false
      buffer.writeStaticString(">")
    }
  }

  private mutating func open(_ local: StaticString, _ namespace: StaticString) {
    finishTag()
    let scope = scope
    let place = place(of: namespace.raw, within: scope.raw)
    buffer.writeStaticString("<")
    buffer.write(place.prefix, local.raw)
    isTagOpen = true
    if place.isDeclared { attribute("xmlns", namespace) }
    frames.append(
      Frame(local: local, namespace: namespace, scope: place.isDeclared ? namespace : scope, prefix: place.prefix))
  }

  private mutating func attribute(_ name: StaticString, _ value: UnsafeRawBufferPointer) {
    precondition(isTagOpen, "attributes come before content")
    buffer.writeAttribute(Self.nothing, name.raw, value)
  }

  /// Returns how to name an element of `namespace` where `scope` is the default namespace: with which prefix, or by
  /// declaring its namespace as the default. The namespace of `xml` may be neither declared as default nor bound to
  /// another prefix (Namespaces in XML 1.0, 3).
  private func place(
    of namespace: UnsafeRawBufferPointer, within scope: UnsafeRawBufferPointer
  ) -> (prefix: StaticString, isDeclared: Bool) {
    if Self.same(namespace, scope) { return ("", false) }
    if isStreamPrefixDeclared, Self.same(namespace, Self.streamNamespace.raw) { return ("stream:", false) }
    if Self.same(namespace, XMLNamespace.xml.raw) { return ("xml:", false) }
    return ("", true)
  }

  /// Writes one element of a block. `scope` is the default namespace around it. Recursion is as deep as the element,
  /// which the reader's limits bound.
  private mutating func write(
    _ nodes: UnsafePointer<Node>, _ at: Int, _ bytes: UnsafeRawPointer, scope: UnsafeRawBufferPointer
  ) {
    let node = nodes[at]
    let space = slice(bytes, node.space, Int(node.spaceCount))
    let name = slice(bytes, node.name, Int(node.nameCount))
    let place = place(of: space, within: scope)
    let inner = place.isDeclared ? space : scope
    let content = at + 1 + Int(node.attributeCount)
    let end = Int(node.extent)
    let isBare = !place.isDeclared && node.attributeCount == 0 && content < end
    if place.prefix.utf8CodeUnitCount > 0 {
      buffer.writeStaticString("<")
      buffer.write(place.prefix, name, isBare ? ">" : "")
    } else {
      buffer.write("<", name, isBare ? ">" : "")
    }
    if place.isDeclared { buffer.writeAttribute(Self.nothing, ("xmlns" as StaticString).raw, space) }
    for index in at + 1..<content { writeAttribute(nodes, index, bytes, first: at + 1) }
    guard content < end else {
      buffer.writeStaticString("/>")
      return
    }
    if !isBare { buffer.writeStaticString(">") }
    var child = content
    while child < end {
      if nodes[child].kind == .element {
        write(nodes, child, bytes, scope: inner)
        child = Int(nodes[child].extent)
      } else {
        buffer.writeText(slice(bytes, nodes[child].value, Int(nodes[child].extent)))
        child += 1
      }
    }
    if place.prefix.utf8CodeUnitCount > 0 {
      buffer.writeStaticString("</")
      buffer.write(place.prefix, name, ">")
    } else {
      buffer.write("</", name, ">")
    }
  }

  /// Writes one attribute of an element of a block, and the declaration of its prefix unless an attribute since `first`
  /// has brought it.
  private mutating func writeAttribute(
    _ nodes: UnsafePointer<Node>, _ index: Int, _ bytes: UnsafeRawPointer, first: Int
  ) {
    let node = nodes[index]
    var prefix = Self.nothing
    if node.prefixCount > 0 {
      prefix = Self.prefix(of: node, bytes)
      let space = slice(bytes, node.space, Int(node.spaceCount))
      let isDeclared =
        Self.same(space, XMLNamespace.xml.raw)
        || (first..<index).contains {
          nodes[$0].prefixCount > 0 && Self.same(Self.prefix(of: nodes[$0], bytes), prefix)
        }
      if !isDeclared { buffer.writeAttribute(("xmlns" as StaticString).raw, prefix, space) }
    }
    buffer.writeAttribute(
      prefix, slice(bytes, node.name, Int(node.nameCount)), slice(bytes, node.value, Int(node.extent)))
  }

  private static func prefix(of node: Node, _ bytes: UnsafeRawPointer) -> UnsafeRawBufferPointer {
    slice(bytes, node.name - UInt32(node.prefixCount) - 1, Int(node.prefixCount))
  }

  private static var nothing: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }

  @inline(__always)
  private static func same(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Bool {
    a.count == b.count && (a.baseAddress == b.baseAddress || bytesEqual(a, b))
  }
}

/// Calls `body` with the bytes of a sequence, copied only if they are not contiguous.
private func withBytes(of sequence: some Sequence<UInt8>, _ body: (UnsafeRawBufferPointer) -> Void) {
  if sequence.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) }) == nil {
    Array(sequence).withUnsafeBytes(body)
  }
}

extension Element {
  /// Appends the element as XML for a place where `defaultNamespace` is the default namespace (empty for none).
  public func write(into buffer: inout ByteBuffer, defaultNamespace: StaticString = "jabber:client") {
    // The buffer is moved, or writing to it would copy it.
    var writer = ElementWriter(buffer: buffer, defaultNamespace: defaultNamespace)
    buffer = ByteBuffer()
    writer.element(self)
    buffer = writer.buffer
  }

  /// Returns the element as XML for a place where `defaultNamespace` is the default namespace (empty for none).
  public func serialised(defaultNamespace: StaticString = "jabber:client") -> [UInt8] {
    var writer = ElementWriter(defaultNamespace: defaultNamespace)
    writer.element(self)
    return Array(writer.buffer.readableBytesView)
  }
}
