/// A qualified name known at compile time: a local part and its namespace name (Namespaces in XML 1.0, 2.1: an expanded
/// name).
///
/// A parsed name equals a `Name` if the 64-bit hashes and then the bytes agree. There is no table of names anywhere, so
/// a peer that sends ever new names grows nothing, and a peer that finds colliding names gains nothing.
public struct Name: Sendable {
  public let local: StaticString
  /// The namespace name; empty for none.
  public let namespace: StaticString
  /// ``Element/nameHash`` of an element of this name. Stable within one process; never stored or sent.
  public let hash: UInt64

  /// Creates a name, which costs a hash of both strings: keep names in `static let`s.
  public init(_ local: StaticString, _ namespace: StaticString) {
    self.local = local
    self.namespace = namespace
    self.hash = NameHash.name(local: NameHash.bytes(local.raw), namespace: NameHash.bytes(namespace.raw))
  }
}

extension Name: Hashable {
  public static func == (a: Name, b: Name) -> Bool {
    a.hash == b.hash && bytesEqual(a.local.raw, b.local.raw) && bytesEqual(a.namespace.raw, b.namespace.raw)
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}

/// A filter for a set of names, one bit for each of 64 hashes: it rules out most elements that have none of the names without a
/// comparison of bytes.
public struct NameFilter: Sendable {
  private let bits: UInt64

  public init(_ names: [Name]) { bits = names.reduce(0) { $0 | 1 << ($1.hash & 63) } }

  /// Returns false only for an element that has none of the names.
  public func mayContain(_ element: Element) -> Bool { bits >> (element.nameHash & 63) & 1 == 1 }
}

extension Name: CustomStringConvertible {
  /// Clark notation: `{namespace}local`.
  public var description: String { "{\(namespace)}\(local)" }
}

/// The hash of names: multiply and fold, 8 bytes a step. It is not keyed: hashes are confirmed by comparing the bytes,
/// and the longest list compared pairwise (the attributes of one element) is bounded.
enum NameHash {
  private static let seed: UInt64 = 0x9E37_79B9_7F4A_7C15
  private static let stepFactor: UInt64 = 0xA076_1D64_78BD_642F
  private static let tailFactor: UInt64 = 0xE703_7ED1_A0B4_28DB
  private static let joinFactor: UInt64 = 0x8EBC_6AF0_9C88_C6E3

  @inline(__always)
  static func bytes(_ start: UnsafeRawPointer, _ count: Int) -> UInt64 {
    var hash = seed ^ UInt64(truncatingIfNeeded: count)
    var at = start
    var left = count
    while left >= 8 {
      hash = fold(hash ^ at.loadUnaligned(as: UInt64.self), stepFactor)
      at += 8
      left &-= 8
    }
    return fold(hash ^ tail(at, left), tailFactor)
  }

  @inline(__always)
  static func bytes(_ buffer: UnsafeRawBufferPointer) -> UInt64 {
    guard let start = buffer.baseAddress else { return fold(seed, tailFactor) }
    return bytes(start, buffer.count)
  }

  /// Joins the hashes of a local part and of its namespace name.
  @inline(__always)
  static func name(local: UInt64, namespace: UInt64) -> UInt64 {
    fold(local ^ (namespace << 32 | namespace >> 32), joinFactor)
  }

  /// The hash of the empty string: the namespace of un-prefixed attributes.
  static let empty: UInt64 = fold(seed, tailFactor)

  @inline(__always)
  private static func fold(_ a: UInt64, _ b: UInt64) -> UInt64 {
    let product = a.multipliedFullWidth(by: b)
    return product.high ^ product.low
  }

  /// Returns up to 7 bytes as one number, without reading past them.
  @inline(__always)
  private static func tail(_ at: UnsafeRawPointer, _ count: Int) -> UInt64 {
    if count >= 4 {
      let low = at.loadUnaligned(as: UInt32.self)
      let high = (at + (count &- 4)).loadUnaligned(as: UInt32.self)
      return UInt64(low) | UInt64(high) << 32
    }
    if count > 0 {
      let first = UInt64(at.load(as: UInt8.self))
      let middle = UInt64((at + (count >> 1)).load(as: UInt8.self))
      let last = UInt64((at + (count &- 1)).load(as: UInt8.self))
      return first | middle << 8 | last << 16
    }
    return 0
  }
}

/// Returns whether two runs of `count` bytes are equal. Inlined and stepped by 8, because the names compared are mostly
/// shorter than a call costs.
@inline(__always)
func bytesEqual(_ a: UnsafeRawPointer, _ b: UnsafeRawPointer, _ count: Int) -> Bool {
  var at = 0
  while count &- at >= 8 {
    if (a + at).loadUnaligned(as: UInt64.self) != (b + at).loadUnaligned(as: UInt64.self) { return false }
    at &+= 8
  }
  while at < count {
    if (a + at).load(as: UInt8.self) != (b + at).load(as: UInt8.self) { return false }
    at &+= 1
  }
  return true
}

@inline(__always)
func bytesEqual(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Bool {
  guard a.count == b.count else { return false }
  guard let first = a.baseAddress, let second = b.baseAddress else { return true }
  return bytesEqual(first, second, a.count)
}

@inline(__always)
func equals(_ bytes: UnsafeRawBufferPointer, _ string: StaticString) -> Bool { bytesEqual(bytes, string.raw) }
