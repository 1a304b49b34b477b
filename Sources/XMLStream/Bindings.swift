// Namespace declarations in scope (Namespaces in XML 1.0, 6).

/// The declarations in scope while an item is read: those of the stream at the bottom, then those of the open elements.
struct BindingStack: ~Copyable {
  /// A namespace name among the builder's bytes.
  struct Namespace {
    let space: UInt32
    let count: UInt16
    let hash: UInt64
  }

  private struct Binding {
    /// The hash of the namespace name.
    let hash: UInt64
    /// The start of the prefix among the builder's bytes, for bindings of the stream among the scope's.
    let prefix: UInt32
    /// The start of the namespace name among the builder's bytes; `notCopied` until an item needs one of the stream.
    var space: UInt32
    let prefixCount: UInt16
    let spaceCount: UInt16
    /// The record of the element that declares it, or of the stream.
    let owner: Int32
    /// The default in scope before this one; for defaults only.
    let outer: Int32
  }

  private static let stream: Int32 = -1
  private static let none: Int32 = -1
  private static let notCopied = UInt32.max
  /// The first size: enough for a stream and a stanza's usual depth.
  private static let firstCapacity = 8

  private var bindings: UnsafeMutablePointer<Binding>?
  private var capacity = 0
  private(set) var count = 0
  private var streamCount = 0
  private var hasCopied = false
  private var xmlSpace = BindingStack.notCopied
  private var currentDefault = BindingStack.none

  /// The default namespace in scope.
  private(set) var defaultSpace: UInt32 = 0
  private(set) var defaultCount: UInt16 = 0
  private(set) var defaultHash = NameHash.empty

  init() {}

  deinit { bindings?.deallocate() }

  var heldBytes: Int { capacity * MemoryLayout<Binding>.stride }

  /// Forgets all declarations, and keeps the buffer.
  mutating func removeAll() {
    var empty = BindingStack()
    swap(&empty.bindings, &bindings)
    swap(&empty.capacity, &capacity)
    self = empty
  }

  /// Adds a declaration of the element `owner`; without a prefix it is the default. Returns `false` if the element has
  /// declared this prefix already.
  mutating func push(
    prefix: UnsafeRawBufferPointer, at prefixAt: UInt32, space: UnsafeRawBufferPointer, at spaceAt: UInt32, owner: Int,
    bytes: UnsafePointer<UInt8>
  ) -> Bool {
    let owner = Int32(truncatingIfNeeded: owner)
    var index = count
    while index > 0, let bindings, bindings[index &- 1].owner == owner {
      index &-= 1
      let other = bindings[index]
      if bytesEqual(slice(bytes, other.prefix, Int(other.prefixCount)), prefix) { return false }
    }
    append(
      Binding(
        hash: NameHash.bytes(space), prefix: prefixAt, space: spaceAt,
        prefixCount: UInt16(truncatingIfNeeded: prefix.count),
        spaceCount: UInt16(truncatingIfNeeded: space.count), owner: owner, outer: currentDefault))
    if prefix.count == 0 { setDefault(Int32(truncatingIfNeeded: count &- 1)) }
    return true
  }

  /// Removes the declarations of an element that has ended.
  @inline(__always)
  mutating func pop(_ owner: Int) {
    guard let bindings else { return }
    while count > streamCount, Int(bindings[count &- 1].owner) == owner {
      count &-= 1
      if bindings[count].prefixCount == 0 { setDefault(bindings[count].outer) }
    }
  }

  /// Returns the namespace of a prefix; `nil` if there is none in scope.
  mutating func find(
    _ prefix: UnsafeRawBufferPointer, _ scope: StreamScope?, _ builder: inout ArenaBuilder
  ) -> Namespace? {
    guard let bindings else { return nil }
    var index = count
    while index > 0 {
      index &-= 1
      let binding = bindings[index]
      guard Int(binding.prefixCount) == prefix.count else { continue }
      if index >= streamCount {
        if bytesEqual(slice(builder.start, binding.prefix, prefix.count), prefix) {
          return Namespace(space: binding.space, count: binding.spaceCount, hash: binding.hash)
        }
      } else if let scope, scope.prefix(index, equals: prefix) {
        if binding.space == Self.notCopied {
          bindings[index].space = scope.copySpace(index, &builder)
          hasCopied = true
        }
        return Namespace(space: bindings[index].space, count: binding.spaceCount, hash: binding.hash)
      }
    }
    return nil
  }

  /// Returns the namespace of the prefix `xml`, which needs no declaration.
  mutating func xml(_ builder: inout ArenaBuilder) -> Namespace {
    let bytes = XMLNamespace.xml.raw
    if xmlSpace == Self.notCopied { xmlSpace = UInt32(truncatingIfNeeded: builder.appendWithin(bytes)) }
    return Namespace(space: xmlSpace, count: UInt16(bytes.count), hash: NameHash.bytes(bytes))
  }

  /// Forgets the copies for a complete item, which are gone with its bytes.
  @inline(__always)
  mutating func reset() {
    xmlSpace = Self.notCopied
    if hasCopied { forgetCopies() }
  }

  private mutating func forgetCopies() {
    hasCopied = false
    guard let bindings else { return }
    for index in 0..<streamCount where bindings[index].prefixCount > 0 { bindings[index].space = Self.notCopied }
  }

  /// Starts with the declarations of a stream. Its default namespace is the first of the builder's bytes.
  mutating func load(_ scope: StreamScope) {
    for declaration in scope.declarations {
      let isDefault = declaration.prefixCount == 0
      append(
        Binding(
          hash: declaration.hash, prefix: declaration.prefix, space: isDefault ? 0 : Self.notCopied,
          prefixCount: declaration.prefixCount, spaceCount: declaration.spaceCount, owner: Self.stream, outer: Self.none
        ))
      if isDefault { setDefault(Int32(truncatingIfNeeded: count &- 1)) }
    }
    streamCount = count
  }

  /// Calls `body` with the declarations, for a scope made of them.
  func forEach(_ body: (_ prefix: UInt32, _ prefixCount: UInt16, _ namespace: Namespace) -> Void) {
    guard let bindings else { return }
    for index in 0..<count {
      let binding = bindings[index]
      body(
        binding.prefix, binding.prefixCount,
        Namespace(space: binding.space, count: binding.spaceCount, hash: binding.hash))
    }
  }

  private mutating func setDefault(_ index: Int32) {
    currentDefault = index
    guard index >= 0, let bindings else {
      (defaultSpace, defaultCount, defaultHash) = (0, 0, NameHash.empty)
      return
    }
    let binding = bindings[Int(index)]
    (defaultSpace, defaultCount, defaultHash) = (binding.space, binding.spaceCount, binding.hash)
  }

  private mutating func append(_ binding: Binding) {
    if count == capacity {
      let larger = max(Self.firstCapacity, capacity * 2)
      let grown = UnsafeMutablePointer<Binding>.allocate(capacity: larger)
      if let bindings {
        grown.update(from: bindings, count: count)
        bindings.deallocate()
      }
      bindings = grown
      capacity = larger
    }
    guard let bindings else { return }
    (bindings + count).initialize(to: binding)
    count &+= 1
  }
}

/// The declarations and the name of a stream's root element: the only memory of a reader between stanzas.
final class StreamScope: Sendable {
  struct Declaration: Sendable {
    /// The offsets into the scope's bytes.
    let prefix: UInt32
    let space: UInt32
    let prefixCount: UInt16
    let spaceCount: UInt16
    let hash: UInt64
  }

  /// The default namespace first; then prefixes and namespace names; last the root's name as it was written.
  let bytes: [UInt8]
  let defaultCount: Int
  let rootStart: Int
  let declarations: [Declaration]

  var rootCount: Int { bytes.count - rootStart }

  /// Creates the scope around a document.
  init(defaultNamespace: String) {
    bytes = Array(defaultNamespace.utf8)
    defaultCount = bytes.count
    rootStart = bytes.count
    let hash = bytes.withUnsafeBytes { NameHash.bytes($0) }
    declarations =
      bytes.isEmpty
      ? [] : [Declaration(prefix: 0, space: 0, prefixCount: 0, spaceCount: UInt16(clamping: bytes.count), hash: hash)]
  }

  /// Creates the scope within a root element just read, with the namespace `content` read as `jabber:client`.
  init(
    root: Element, bindings: borrowing BindingStack, builder: borrowing ArenaBuilder, content: StaticString? = nil
  ) {
    var bytes: [UInt8] = []
    var declarations: [Declaration] = []
    let source = builder.start
    func read(_ namespace: BindingStack.Namespace) -> UnsafeRawBufferPointer {
      let space = slice(source, namespace.space, Int(namespace.count))
      if let content, equals(space, content) { return XMLNamespace.client.raw }
      return space
    }
    bindings.forEach { _, prefixCount, namespace in
      guard prefixCount == 0 else { return }
      let space = read(namespace)
      bytes.append(contentsOf: space)
      declarations.append(
        Declaration(
          prefix: 0, space: 0, prefixCount: 0, spaceCount: UInt16(space.count), hash: NameHash.bytes(space)))
    }
    defaultCount = bytes.count
    bindings.forEach { prefix, prefixCount, namespace in
      guard prefixCount > 0 else { return }
      let at = UInt32(bytes.count)
      let space = read(namespace)
      bytes.append(contentsOf: slice(source, prefix, Int(prefixCount)))
      bytes.append(contentsOf: space)
      declarations.append(
        Declaration(
          prefix: at, space: at + UInt32(prefixCount), prefixCount: prefixCount, spaceCount: UInt16(space.count),
          hash: NameHash.bytes(space)))
    }
    rootStart = bytes.count
    root.read { nodes, at, rootBytes in
      let node = nodes[at]
      let prefix = node.prefixCount == 0 ? 0 : UInt32(node.prefixCount) + 1
      bytes.append(contentsOf: slice(rootBytes, node.name - prefix, Int(prefix) + Int(node.nameCount)))
    }
    self.bytes = bytes
    self.declarations = declarations
  }

  func prefix(_ index: Int, equals other: UnsafeRawBufferPointer) -> Bool {
    let declaration = declarations[index]
    return bytes.withUnsafeBytes { bytes in
      bytesEqual(
        UnsafeRawBufferPointer(
          rebasing: bytes[Int(declaration.prefix)..<Int(declaration.prefix) + Int(declaration.prefixCount)]), other)
    }
  }

  /// Copies a namespace name to an item that uses it.
  func copySpace(_ index: Int, _ builder: inout ArenaBuilder) -> UInt32 {
    let declaration = declarations[index]
    return bytes.withUnsafeBytes { bytes in
      let name = bytes[Int(declaration.space)..<Int(declaration.space) + Int(declaration.spaceCount)]
      return UInt32(truncatingIfNeeded: builder.appendWithin(UnsafeRawBufferPointer(rebasing: name)))
    }
  }

  /// Returns the header, with its declarations.
  func header(_ element: Element) -> StreamHeader {
    var prefixes: [String: String] = [:]
    for declaration in declarations where declaration.prefixCount > 0 {
      prefixes[string(declaration.prefix, declaration.prefixCount)] = string(declaration.space, declaration.spaceCount)
    }
    let root = bytes[rootStart...]
    let prefix = root.firstIndex(of: Byte.colon).map { String(decoding: root[..<$0], as: UTF8.self) } ?? ""
    return StreamHeader(
      element: element, prefix: prefix, defaultNamespace: String(decoding: bytes[..<defaultCount], as: UTF8.self),
      declarations: prefixes)
  }

  private func string(_ offset: UInt32, _ count: UInt16) -> String {
    String(decoding: bytes[Int(offset)..<Int(offset) + Int(count)], as: UTF8.self)
  }
}
