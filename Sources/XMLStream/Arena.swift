// The memory of one stanza.
//
// A stanza is one heap block: a header, then fixed-size records in document order, then the decoded bytes the records
// point into. An element's record is followed by those of its attributes, then by those of its content; `extent` says
// where its subtree ends. So a child is found by stepping, a sibling by one jump, and no record needs a link to its
// parent. Blocks are written once, by `ArenaBuilder`, and never changed afterwards.

/// The kind of a record.
enum NodeKind: UInt8 {
  case element
  case attribute
  case text
}

/// One record. Offsets are into the bytes of the same block.
struct Node {
  /// The `NameHash` of local part and namespace, for elements and attributes.
  var hash: UInt64 = 0
  /// The start of the local part, for elements and attributes. A prefix, if there was one, stands before it with its
  /// colon.
  var name: UInt32 = 0
  /// The start of the namespace name, for elements and attributes.
  var space: UInt32 = 0
  /// The start of the value, for attributes and text. For elements the number of bytes in the source; while open, the
  /// source position of the `<`.
  var value: UInt32 = 0
  /// The number of bytes of the value, for attributes and text. For elements the index behind the subtree; while open,
  /// the index of the parent.
  var extent: UInt32 = 0
  var nameCount: UInt16 = 0
  var spaceCount: UInt16 = 0
  var prefixCount: UInt16 = 0
  var kind: NodeKind
  /// The number of attribute records that follow an element.
  var attributeCount: UInt8 = 0
}

struct ArenaHeader {
  let nodeCount: Int
  let byteCount: Int
}

/// The block. The elements of the `ManagedBuffer` are the records; the bytes lie behind the last one, in whole records'
/// space.
final class Arena: ManagedBuffer<ArenaHeader, Node> {
  @inline(__always)
  static func make(nodes: UnsafePointer<Node>, nodeCount: Int, bytes: UnsafePointer<UInt8>, byteCount: Int) -> Arena {
    let stride = MemoryLayout<Node>.stride
    let capacity = nodeCount + (byteCount + stride - 1) / stride
    let buffer = Arena.create(minimumCapacity: capacity) { _ in ArenaHeader(nodeCount: nodeCount, byteCount: byteCount)
    }
    buffer.withUnsafeMutablePointerToElements { target in
      target.initialize(from: nodes, count: nodeCount)
      UnsafeMutableRawPointer(target + nodeCount).copyMemory(from: bytes, byteCount: byteCount)
    }
    return unsafeDowncast(buffer, to: Arena.self)
  }

  /// Calls `body` with the records and the bytes.
  @inline(__always)
  func read<R>(_ body: (UnsafePointer<Node>, UnsafeRawPointer) throws -> R) rethrows -> R {
    try withUnsafeMutablePointers { header, nodes in
      try body(UnsafePointer(nodes), UnsafeRawPointer(nodes + header.pointee.nodeCount))
    }
  }
}

/// The place where a stanza grows before it becomes an ``Arena``: records and bytes in two buffers that are reused from
/// stanza to stanza.
struct ArenaBuilder: ~Copyable {
  /// The first sizes: a chat stanza fits.
  static let firstBytes = 1024
  static let firstNodes = 32

  private(set) var bytes: UnsafeMutablePointer<UInt8>?
  private(set) var byteCapacity = 0
  var byteCount = 0
  private(set) var nodes: UnsafeMutablePointer<Node>?
  private(set) var nodeCapacity = 0
  var nodeCount = 0

  init() {}

  deinit {
    bytes?.deallocate()
    nodes?.deallocate()
  }

  /// The bytes and the records, to be used between a reservation and the next: never `nil` then.
  @inline(__always)
  var start: UnsafeMutablePointer<UInt8> { bytes.unsafelyUnwrapped }
  @inline(__always)
  var records: UnsafeMutablePointer<Node> { nodes.unsafelyUnwrapped }

  /// Forgets what was built, and keeps the buffers.
  mutating func removeAll() { (byteCount, nodeCount) = (0, 0) }

  /// The bytes held, used or not.
  var heldBytes: Int { byteCapacity + nodeCapacity * MemoryLayout<Node>.stride }

  /// Makes room for `count` more bytes and returns the start of all bytes.
  @inline(__always)
  mutating func reserve(_ count: Int) -> UnsafeMutablePointer<UInt8> {
    if let bytes, byteCapacity - byteCount >= count { return bytes }
    return growBytes(count)
  }

  @inline(never)
  private mutating func growBytes(_ count: Int) -> UnsafeMutablePointer<UInt8> {
    let capacity = max(Self.firstBytes, byteCapacity * 2, byteCount + count)
    let grown = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
    if let bytes {
      grown.update(from: bytes, count: byteCount)
      bytes.deallocate()
    }
    bytes = grown
    byteCapacity = capacity
    return grown
  }

  /// Adds a record and returns its index.
  @inline(__always)
  @discardableResult
  mutating func append(_ node: Node) -> Int {
    let index = nodeCount
    if let nodes, index < nodeCapacity {
      (nodes + index).initialize(to: node)
    } else {
      (growNodes() + index).initialize(to: node)
    }
    nodeCount = index &+ 1
    return index
  }

  @inline(never)
  private mutating func growNodes() -> UnsafeMutablePointer<Node> {
    let capacity = max(Self.firstNodes, nodeCapacity * 2)
    let grown = UnsafeMutablePointer<Node>.allocate(capacity: capacity)
    if let nodes {
      grown.update(from: nodes, count: nodeCount)
      nodes.deallocate()
    }
    nodes = grown
    nodeCapacity = capacity
    return grown
  }

  /// Adds bytes and returns the offset of the first.
  mutating func append(_ source: UnsafeRawBufferPointer) -> Int {
    let offset = byteCount
    guard let start = source.baseAddress, source.count > 0 else { return offset }
    UnsafeMutableRawPointer(reserve(source.count) + offset).copyMemory(from: start, byteCount: source.count)
    byteCount = offset + source.count
    return offset
  }

  /// Adds bytes that are no input, without using up the room that has been reserved for input.
  mutating func appendWithin(_ source: UnsafeRawBufferPointer) -> Int {
    _ = reserve(source.count + Scanner.windowBytes + Scanner.windowSlack)
    return append(source)
  }

  /// Returns the block of all that has been built. The builder is left unchanged.
  @inline(__always)
  mutating func finish() -> Arena {
    let bytes = reserve(0)
    guard let nodes else { return Arena.make(nodes: growNodes(), nodeCount: 0, bytes: bytes, byteCount: byteCount) }
    return Arena.make(nodes: nodes, nodeCount: nodeCount, bytes: bytes, byteCount: byteCount)
  }
}
