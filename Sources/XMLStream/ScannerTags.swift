// The scanner's part for tags: names, attributes, namespaces, nesting.

extension Scanner {
  // MARK: Names

  /// Reads on in a name. Returns `true` if the name ended before `end`; `at` is then at the byte behind it.
  @inline(__always)
  mutating func scanName(_ at: inout Cursor, _ end: Cursor) throws(XMLViolation) -> Bool {
    if carry != 0 {
      guard let scalar = try resumeSequence(&at, end) else { return false }
      try checkNameScalar(scalar, at: sequenceStart)
    }
    let bytes = builder.reserve(0)
    var count = builder.byteCount
    var from = at
    let begin = at
    defer { examine(at - begin) }
    while from < end {
      let byte = from.pointee
      if isNameByte(byte) {
        bytes[count] = byte
        count &+= 1
        from += 1
        continue
      }
      guard byte == Byte.colon || byte >= 0x80 else {
        builder.byteCount = count
        try checkNameLength()
        at = from
        return true
      }
      builder.byteCount = count
      try checkNameLength()
      if byte == Byte.colon {
        guard colon < 0 else { throw .notWellFormed("two colons in a name") }
        colon = count
        bytes[count] = byte
        count &+= 1
        from += 1
      } else {
        guard let scalar = try scanSequence(&from, end) else { break }
        try checkNameScalar(scalar, at: count)
        count = builder.byteCount
      }
    }
    if carry == 0 { builder.byteCount = count }
    try checkNameLength()
    at = end
    return false
  }

  @inline(__always)
  private func checkNameLength() throws(XMLViolation) {
    if builder.byteCount &- tokenStart > limits.nameBytes { throw .limit("name length") }
  }

  private func checkNameScalar(_ scalar: UInt32, at offset: Int) throws(XMLViolation) {
    let isFirst = offset == tokenStart || offset == colon + 1 && colon >= 0
    guard isFirst ? isNameStart(scalar) : isNameScalar(scalar) else {
      throw .notWellFormed("character not allowed in a name")
    }
  }

  /// Returns the name just read as the start of a record: its place, and the hash of the local part.
  @inline(__always)
  private func finishName(_ kind: NodeKind) throws(XMLViolation) -> Node {
    let bytes = builder.start
    var node = Node(kind: kind)
    var local = tokenStart
    if colon >= 0 {
      let prefix = colon &- tokenStart
      guard prefix > 0 else { throw .notWellFormed("empty prefix") }
      try checkNameStart(bytes[tokenStart])
      node.prefixCount = UInt16(truncatingIfNeeded: prefix)
      local = colon &+ 1
    }
    let count = builder.byteCount &- local
    guard count > 0 else { throw .notWellFormed("name expected") }
    try checkNameStart(bytes[local])
    node.name = UInt32(truncatingIfNeeded: local)
    node.nameCount = UInt16(truncatingIfNeeded: count)
    node.hash = NameHash.bytes(UnsafeRawPointer(bytes + local), count)
    return node
  }

  /// Checks the first byte of a name; characters beyond ASCII have been checked when they came.
  @inline(__always)
  private func checkNameStart(_ byte: UInt8) throws(XMLViolation) {
    guard isNameStartByte(byte) || byte >= 0x80 else {
      throw .notWellFormed("character not allowed at the start of a name")
    }
  }

  // MARK: Markup

  /// Reads the byte behind `<`.
  @inline(__always)
  mutating func scanMarkup(_ at: inout Cursor, _ end: Cursor) throws(XMLViolation) {
    examine(1)
    switch at.pointee {
    case Byte.slash:
      at += 1
      progress = 0
      state = .endName
      if depth > 0 {
        flushText()
      } else if mode == .document || scope == nil {
        throw .notWellFormed("end tag without a start tag")
      }
    case Byte.exclamation:
      at += 1
      progress = 0
      state = .bang
    case Byte.question:
      guard mayDeclare else { throw .restricted("processing instruction") }
      at += 1
      tokenStart = builder.byteCount
      state = .declaration
    case 0 where mayDeclare: throw .unsupportedEncoding  // UTF-16
    default:
      guard !isOver else { throw .notWellFormed("element behind the root element") }
      if depth > 0 { flushText() }
      tokenStart = builder.byteCount
      colon = -1
      state = .elementName
      try scanElementName(&at, end)
    }
    mayDeclare = false
  }

  /// Makes a record of the text since the last tag.
  @inline(__always)
  private mutating func flushText() {
    let count = builder.byteCount &- textStart
    guard count > 0 else { return }
    builder.append(
      Node(value: UInt32(truncatingIfNeeded: textStart), extent: UInt32(truncatingIfNeeded: count), kind: .text))
  }

  // MARK: Start tags

  mutating func scanElementName(_ at: inout Cursor, _ end: Cursor) throws(XMLViolation) {
    guard try scanName(&at, end) else { return }
    element = builder.append(try finishName(.element))
    hasPrefixedAttributes = false
    isSpaced = false
    state = .tag
    try scanTag(&at, end)
  }

  /// Reads behind a name or a value, or in whitespace. Attributes that lie wholly within the window are read without
  /// leaving this loop.
  mutating func scanTag(_ at: inout Cursor, _ end: Cursor) throws(XMLViolation) {
    while at < end {
      let byte = at.pointee
      examine(1)
      if isWhitespace(byte) {
        isSpaced = true
        at += 1
        continue
      }
      if byte == Byte.greater {
        at += 1
        try finishStartTag(at, isEmpty: false)
        return
      }
      if byte == Byte.slash {
        at += 1
        state = .emptyTag
        return
      }
      guard isSpaced else { throw .notWellFormed("whitespace expected before an attribute") }
      tokenStart = builder.byteCount
      colon = -1
      state = .attributeName
      guard try scanName(&at, end) else { return }
      try finishAttributeName()
      guard end - at >= 2, at[0] == Byte.equals, at[1] == Byte.apostrophe || at[1] == Byte.doubleQuote else { return }
      quote = at[1]
      at += 2
      beginValue()
      guard try scanValue(&at, end) else { return }
    }
  }

  mutating func scanAttributeName(_ at: inout Cursor, _ end: Cursor) throws(XMLViolation) {
    guard try scanName(&at, end) else { return }
    try finishAttributeName()
  }

  mutating func scanEquals(_ at: inout Cursor, _ end: Cursor) throws(XMLViolation) {
    skipWhitespace(&at, end)
    guard at < end else { return }
    guard at.pointee == Byte.equals else { throw .notWellFormed("attribute without a value") }
    at += 1
    state = .quote
  }

  mutating func scanQuote(_ at: inout Cursor, _ end: Cursor) throws(XMLViolation) {
    skipWhitespace(&at, end)
    guard at < end else { return }
    quote = at.pointee
    guard quote == Byte.apostrophe || quote == Byte.doubleQuote else {
      throw .notWellFormed("attribute value without quotation marks")
    }
    at += 1
    beginValue()
  }

  mutating func scanEmptyTag(_ at: inout Cursor) throws(XMLViolation) {
    examine(1)
    guard at.pointee == Byte.greater else { throw .notWellFormed("'/' within a tag") }
    at += 1
    try finishStartTag(at, isEmpty: true)
  }

  @inline(__always)
  private mutating func skipWhitespace(_ at: inout Cursor, _ end: Cursor) {
    let from = at
    while at < end, isWhitespace(at.pointee) { at += 1 }
    examine(at - from)
  }

  @inline(__always)
  private mutating func beginValue() {
    tokenStart = builder.byteCount
    state = .value
  }

  @inline(__always)
  private mutating func finishAttributeName() throws(XMLViolation) {
    var node = try finishName(.attribute)
    state = .equals
    isDeclaration = isXMLNS(node)
    if isDeclaration {
      declared = node
      return
    }
    guard builder.nodeCount &- element <= limits.attributes else { throw .limit("attributes of an element") }
    if node.prefixCount == 0 {
      node.hash = NameHash.name(local: node.hash, namespace: NameHash.empty)
    } else {
      hasPrefixedAttributes = true
    }
    builder.append(node)
  }

  /// Returns whether an attribute is `xmlns` or has the prefix `xmlns`.
  @inline(__always)
  private func isXMLNS(_ node: Node) -> Bool {
    let bytes = builder.start + tokenStart
    guard bytes[0] == Byte.x, node.prefixCount == 5 || (node.prefixCount == 0 && node.nameCount == 5) else {
      return false
    }
    return bytes[1] == 0x6D && bytes[2] == 0x6C && bytes[3] == 0x6E && bytes[4] == 0x73
  }

  /// Handles the closing quotation mark.
  @inline(__always)
  mutating func finishValue() throws(XMLViolation) {
    isSpaced = false
    state = .tag
    if isDeclaration {
      try declare()
    } else {
      let last = builder.records + (builder.nodeCount &- 1)
      last.pointee.value = UInt32(truncatingIfNeeded: tokenStart)
      last.pointee.extent = UInt32(truncatingIfNeeded: builder.byteCount &- tokenStart)
    }
  }

  /// Handles a complete namespace declaration (Namespaces in XML 1.0, 2.2, 3, 5).
  private mutating func declare() throws(XMLViolation) {
    let count = builder.byteCount &- tokenStart
    guard count <= limits.namespaceBytes else { throw .limit("namespace length") }
    let bytes = builder.start
    let isDefault = declared.prefixCount == 0
    let prefix = slice(bytes, declared.name, isDefault ? 0 : Int(declared.nameCount))
    var space = UnsafeRawBufferPointer(start: bytes + tokenStart, count: count)
    if let content, scope != nil, equals(space, content) {
      let client = XMLNamespace.client.raw
      UnsafeMutableRawBufferPointer(start: bytes + tokenStart, count: count).copyBytes(from: client)
      builder.byteCount = tokenStart &+ client.count
      space = UnsafeRawBufferPointer(rebasing: space[..<client.count])
    }
    let isXML = equals(space, XMLNamespace.xml)
    if equals(prefix, "xml") {
      guard isXML else { throw .notWellFormed("prefix xml bound to another namespace") }
      return
    }
    guard !isXML, !equals(space, XMLNamespace.xmlns), !equals(prefix, "xmlns") else {
      throw .notWellFormed("reserved prefix or namespace declared")
    }
    guard isDefault || count > 0 else { throw .notWellFormed("prefix bound to no namespace") }
    guard bindings.count < limits.declarations else { throw .limit("namespace declarations in scope") }
    let isNew = bindings.push(
      prefix: prefix, at: isDefault ? 0 : declared.name, space: space, at: UInt32(truncatingIfNeeded: tokenStart),
      owner: element, bytes: bytes)
    guard isNew else { throw .notWellFormed("namespace declared twice") }
  }

  /// Handles the `>` of a start tag; `at` is behind it.
  @inline(__always)
  private mutating func finishStartTag(_ at: Cursor, isEmpty: Bool) throws(XMLViolation) {
    let count = builder.nodeCount &- element &- 1
    let node = builder.records + element
    if node.pointee.prefixCount == 0 {
      node.pointee.space = bindings.defaultSpace
      node.pointee.spaceCount = bindings.defaultCount
      node.pointee.hash = NameHash.name(local: node.pointee.hash, namespace: bindings.defaultHash)
    } else {
      try resolve(element)
    }
    node.pointee.attributeCount = UInt8(truncatingIfNeeded: count)
    if count > 1 || hasPrefixedAttributes { try checkAttributes(count) }
    if scope == nil {
      node.pointee.extent = UInt32(truncatingIfNeeded: builder.nodeCount)
      node.pointee.value = UInt32(truncatingIfNeeded: position(at))
      isRootEmpty = isEmpty
      state = .opened
      return
    }
    guard depth < limits.depth else { throw .limit("depth") }
    guard builder.nodeCount <= limits.records else { throw .limit("elements and attributes of a stanza") }
    textStart = builder.byteCount
    if isEmpty {
      node.pointee.extent = UInt32(truncatingIfNeeded: builder.nodeCount)
      node.pointee.value = UInt32(truncatingIfNeeded: position(at) &- markupStart)
      bindings.pop(element)
      state = depth == 0 ? .complete : .content
    } else {
      node.pointee.extent = UInt32(truncatingIfNeeded: parent)
      node.pointee.value = UInt32(truncatingIfNeeded: markupStart)
      parent = element
      depth &+= 1
      state = .content
    }
  }

  /// Resolves prefixes of attributes and refuses two of the same name.
  private mutating func checkAttributes(_ count: Int) throws(XMLViolation) {
    let first = element &+ 1
    if hasPrefixedAttributes {
      for index in first..<first &+ count where builder.records[index].prefixCount > 0 { try resolve(index) }
    }
    let nodes = builder.records
    let bytes = builder.start
    var index = first &+ 1
    while index < first &+ count {
      var other = first
      while other < index {
        if nodes[index].hash == nodes[other].hash {
          let (a, b) = (nodes[index], nodes[other])
          if bytesEqual(slice(bytes, a.name, Int(a.nameCount)), slice(bytes, b.name, Int(b.nameCount))),
            bytesEqual(slice(bytes, a.space, Int(a.spaceCount)), slice(bytes, b.space, Int(b.spaceCount)))
          {
            throw .notWellFormed("attribute given twice")
          }
        }
        other &+= 1
      }
      index &+= 1
    }
  }

  /// Gives a record with a prefix its namespace.
  private mutating func resolve(_ index: Int) throws(XMLViolation) {
    let node = builder.records[index]
    let prefixAt = node.name &- UInt32(node.prefixCount) &- 1
    let found: BindingStack.Namespace?
    if equals(slice(builder.start, prefixAt, Int(node.prefixCount)), "xml") {
      found = bindings.xml(&builder)
    } else {
      found = bindings.find(slice(builder.start, prefixAt, Int(node.prefixCount)), scope, &builder)
    }
    guard let found else { throw .badNamespacePrefix }
    builder.records[index].space = found.space
    builder.records[index].spaceCount = found.count
    builder.records[index].hash = NameHash.name(local: node.hash, namespace: found.hash)
  }

  // MARK: End tags

  /// Reads the name of an end tag, which has to be that of the open element.
  @inline(__always)
  mutating func scanEndName(_ at: inout Cursor, _ end: Cursor) throws(XMLViolation) {
    if depth == 0 {
      try scanRootEndName(&at, end)
      return
    }
    let node = builder.records[parent]
    let prefix = node.prefixCount == 0 ? 0 : Int(node.prefixCount) &+ 1
    let expected = UnsafePointer(builder.start) + (Int(node.name) &- prefix)
    let count = prefix &+ Int(node.nameCount)
    // Mostly the whole tag is there.
    if progress == 0, end - at > count, bytesEqual(at, expected, count), at[count] == Byte.greater {
      examine(count &+ 1)
      at += count &+ 1
      closeElement(at)
      return
    }
    try matchName(&at, end, expected, count)
  }

  private mutating func scanRootEndName(_ at: inout Cursor, _ end: Cursor) throws(XMLViolation) {
    guard let scope else { throw .notWellFormed("end tag without a start tag") }
    let (start, count) = (scope.rootStart, scope.rootCount)
    let root = scope.bytes
    try root.withUnsafeBufferPointer { bytes throws(XMLViolation) in
      guard let base = bytes.baseAddress else { return }
      try matchName(&at, end, base + start, count)
    }
  }

  private mutating func matchName(
    _ at: inout Cursor, _ end: Cursor, _ expected: Cursor, _ count: Int
  ) throws(XMLViolation) {
    while at < end {
      examine(1)
      if progress == count {
        state = .endTag
        if !isWhitespace(at.pointee), at.pointee != Byte.greater { throw .notWellFormed("end tag of another element") }
        return
      }
      guard at.pointee == expected[progress] else { throw .notWellFormed("end tag of another element") }
      progress &+= 1
      at += 1
    }
  }

  /// Reads behind the name of an end tag.
  mutating func scanEndTag(_ at: inout Cursor, _ end: Cursor) throws(XMLViolation) {
    skipWhitespace(&at, end)
    guard at < end else { return }
    guard at.pointee == Byte.greater else { throw .notWellFormed("'>' expected in an end tag") }
    at += 1
    if depth == 0 {
      state = .closing
    } else {
      closeElement(at)
    }
  }

  /// Closes the innermost element, which ended just before `at`.
  @inline(__always)
  private mutating func closeElement(_ at: Cursor) {
    let node = builder.records + parent
    let closed = parent
    parent = Int(Int32(bitPattern: node.pointee.extent))
    node.pointee.extent = UInt32(truncatingIfNeeded: builder.nodeCount)
    node.pointee.value = UInt32(truncatingIfNeeded: position(at)) &- node.pointee.value
    bindings.pop(closed)
    depth &-= 1
    textStart = builder.byteCount
    state = depth == 0 ? .complete : .content
  }
}
