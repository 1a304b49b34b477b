/// A normalised address with a resourcepart (RFC 6120 1.4, RFC 7622 3.5): one connection of an account, or one occupant
/// of a room.
public struct FullJID: Hashable, Sendable, CustomStringConvertible {
  /// The normal form.
  public let description: String
  let offsets: JIDOffsets

  init(normal text: String, _ offsets: JIDOffsets) {
    self.description = text
    self.offsets = offsets
  }

  /// Parses and enforces the rules of RFC 7622 3; a missing resourcepart is an error (`JIDError.empty`).
  public init(_ string: String) throws(JIDError) {
    try self.init(JID(string))
  }

  /// Parses octets like `init(_:)`.
  public init(utf8 bytes: UnsafeRawBufferPointer) throws(JIDError) {
    try self.init(JID(utf8: bytes))
  }

  /// Parses a string; `nil` instead of an error.
  public init?(parsing string: String) {
    do { try self.init(string) } catch { return nil }
  }

  /// Creates a full JID from a JID with a resourcepart.
  public init(_ jid: JID) throws(JIDError) {
    guard let full = jid.full else { throw .empty(.resource) }
    self = full
  }

  /// Joins and enforces parts.
  public init(local: String?, domain: String, resource: String) throws(JIDError) {
    try self.init(JID(local: local, domain: domain, resource: resource))
  }

  /// The address without its resourcepart.
  public var bare: BareJID { jid.bare }

  /// The localpart, if there is one.
  public var local: String? { jid.local }

  /// The domainpart; never empty.
  public var domain: String { jid.domain }

  /// The resourcepart; never empty.
  public var resource: String { description.octets(Int(offsets.domainEnd) + 1, description.utf8.count) }

  /// Returns whether the domainpart equals one in normal form, without copying it out.
  public func hasDomain(_ domain: String) -> Bool { jid.hasDomain(domain) }

  /// Returns whether this is one of the bare JID's resources, without copying it out.
  public func isAt(_ bare: BareJID) -> Bool { jid.isAt(bare) }

  /// The address as a `JID`.
  public var jid: JID { JID(self) }

  public static func == (one: FullJID, other: FullJID) -> Bool { one.description == other.description }

  public func hash(into hasher: inout Hasher) { hasher.combine(description) }
}
