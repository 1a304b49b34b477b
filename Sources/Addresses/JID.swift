/// An address of XMPP, normalised (RFC 7622): `[localpart "@"] domainpart ["/" resourcepart]`.
///
/// A JID holds its text in normal form and the offsets of its parts, so that equality, hashing and printing need no
/// work. Two JIDs are equal if their normal forms are the same octets (RFC 7622 3.2.3, RFC 8265 3.3.4, 4.2.3).
///
///     let jid = try JID("Juliet@Example.org/balcony")
///     jid.description  // juliet@example.org/balcony
///     jid.bare         // juliet@example.org
public struct JID: Hashable, Sendable, CustomStringConvertible {
  /// The normal form. Up to 15 octets need no allocation.
  public let description: String
  let offsets: JIDOffsets

  init(normal text: String, _ offsets: JIDOffsets) {
    self.description = text
    self.offsets = offsets
  }

  /// Parses and enforces the rules of RFC 7622 3.
  ///
  /// Input that is in normal form and ASCII is checked in one pass and shared, not copied.
  public init(_ string: String) throws(JIDError) {
    let plain = string.utf8.withContiguousStorageIfAvailable { JIDOffsets(normal: UnsafeRawBufferPointer($0)) }
    if let offsets = plain ?? nil {
      self.init(normal: string, offsets)
    } else {
      try self.init(enforcing: string)
    }
  }

  /// Parses octets, such as an attribute's value, like `init(_:)`; at most one allocation for ASCII in normal form.
  public init(utf8 bytes: UnsafeRawBufferPointer) throws(JIDError) {
    if let offsets = JIDOffsets(normal: bytes) {
      self.init(normal: String(decoding: bytes, as: UTF8.self), offsets)
      return
    }
    // Three parts of the greatest length before normalisation: more need not be decoded.
    guard bytes.count <= 3 * AddressLimits.profileInputBytes + 2 else { throw .tooLong(.resource) }
    guard let string = String(validating: bytes, as: UTF8.self) else { throw .notUTF8 }
    try self.init(enforcing: string)
  }

  /// Parses a string; `nil` instead of an error.
  public init?(parsing string: String) {
    do { try self.init(string) } catch { return nil }
  }

  /// Parses octets; `nil` instead of an error.
  public init?(parsing bytes: UnsafeRawBufferPointer) {
    do { try self.init(utf8: bytes) } catch { return nil }
  }

  /// Reads an address that this server has stored in normal form; `nil` if it is none. The rules are not enforced again: outside ASCII that
  /// takes up to 100 us, and lists of a thousand addresses are read. The address was taken by the rules of an older version perhaps, which
  /// allowed labels of any length, and what it belongs to must remain readable.
  public init?(stored string: String) {
    guard let offsets = JIDOffsets(stored: string.utf8) else { return nil }
    self.init(normal: string, offsets)
  }

  /// Joins and enforces parts. A part that is given must not be empty.
  public init(local: String?, domain: String, resource: String?) throws(JIDError) {
    let domain = try Domainpart.enforce(domain)
    var text = ""
    var localLength = 0
    if let local {
      let local = try Self.enforceLocal(local)
      localLength = local.utf8.count
      text.reserveCapacity(localLength + domain.utf8.count + (resource?.utf8.count ?? 0) + 2)
      text += local
      text += "@"
    }
    text += domain
    let domainEnd = text.utf8.count
    if let resource {
      text += "/"
      text += try Self.enforceResource(resource)
    }
    self.init(normal: text, JIDOffsets(localLength: localLength, domainEnd: domainEnd))
  }

  /// Applies the full rules. The separators are found before any mapping, which could otherwise make new ones (RFC 7622
  /// 3.1): the first "/", then the first "@" before it (RFC 7622 3.2).
  private init(enforcing string: String) throws(JIDError) {
    let utf8 = string.utf8
    let slash = utf8.firstIndex(of: UInt8(ascii: "/")) ?? utf8.endIndex
    // Most other addresses only need capitals mapped; within ASCII that needs no tables either.
    if utf8.count <= AddressLimits.jidBytes, utf8.allSatisfy({ $0 < 0x80 }) {
      let lower = string[..<slash].lowercased() + string[slash...]
      let plain = lower.utf8.withContiguousStorageIfAvailable { JIDOffsets(normal: UnsafeRawBufferPointer($0)) }
      if let offsets = plain ?? nil {
        self.init(normal: lower, offsets)
        return
      }
    }
    let at = utf8[..<slash].firstIndex(of: UInt8(ascii: "@"))
    try self.init(
      local: at.map { String(string[..<$0]) },
      domain: String(string[(at.map { utf8.index(after: $0) } ?? utf8.startIndex)..<slash]),
      resource: slash == utf8.endIndex ? nil : String(string[utf8.index(after: slash)...]))
  }

  /// The localpart, if there is one.
  public var local: String? {
    offsets.localLength == 0 ? nil : description.octets(0, Int(offsets.localLength))
  }

  /// The domainpart; never empty.
  public var domain: String { description.octets(offsets.domainStart, Int(offsets.domainEnd)) }

  /// The resourcepart, if there is one.
  public var resource: String? {
    isBare ? nil : description.octets(Int(offsets.domainEnd) + 1, description.utf8.count)
  }

  /// The address without its resourcepart.
  public var bare: BareJID {
    BareJID(
      normal: isBare ? description : description.octets(0, Int(offsets.domainEnd)), localLength: offsets.localLength)
  }

  /// The address as a full JID; `nil` without a resourcepart.
  public var full: FullJID? { isBare ? nil : FullJID(normal: description, offsets) }

  /// Whether there is no resourcepart.
  public var isBare: Bool { Int(offsets.domainEnd) == description.utf8.count }

  /// Whether there is neither localpart nor resourcepart: the address of a server or service itself.
  public var isDomain: Bool { offsets.localLength == 0 && isBare }

  /// Returns whether the domainpart equals one in normal form, without copying it out.
  public func hasDomain(_ domain: String) -> Bool {
    description.hasOctets(domain, from: offsets.domainStart, to: Int(offsets.domainEnd))
  }

  /// Returns whether this is the bare JID or one of its resources, without copying it out.
  public func isAt(_ bare: BareJID) -> Bool {
    offsets.localLength == bare.localLength
      && description.hasOctets(bare.description, from: 0, to: Int(offsets.domainEnd))
  }

  /// Creates a JID from a bare one.
  public init(_ bare: BareJID) {
    self.init(
      normal: bare.description,
      JIDOffsets(localLength: Int(bare.localLength), domainEnd: bare.description.utf8.count))
  }

  /// Creates a JID from a full one.
  public init(_ full: FullJID) {
    self.init(normal: full.description, full.offsets)
  }

  public static func == (one: JID, other: JID) -> Bool { one.description == other.description }

  public func hash(into hasher: inout Hasher) { hasher.combine(description) }
}

extension JID {
  /// Enforces a localpart (RFC 7622 3.3): UsernameCaseMapped, without the eight characters.
  static func enforceLocal(_ raw: String) throws(JIDError) -> String {
    let local: String
    do { local = try Precis.usernameCaseMapped(raw) } catch { throw JIDError(error, in: .local) }
    guard local.utf8.count <= AddressLimits.partBytes else { throw .tooLong(.local) }
    if let byte = local.utf8.first(where: JIDOffsets.isExcludedFromLocal) {
      throw .disallowed(.local, Unicode.Scalar(byte))
    }
    return local
  }

  /// Enforces a resourcepart (RFC 7622 3.4): OpaqueString, without invisible characters. That profile allows a space anywhere, but RFC 7622 3.5 lists
  /// a leading one among the violations (example 18).
  static func enforceResource(_ raw: String) throws(JIDError) -> String {
    let resource: String
    do { resource = try Precis.resource(raw) } catch { throw JIDError(error, in: .resource) }
    guard resource.utf8.count <= AddressLimits.partBytes else { throw .tooLong(.resource) }
    guard resource.utf8.first != UInt8(ascii: " ") else { throw .disallowed(.resource, " ") }
    return resource
  }
}

extension String {
  /// Returns the octets `start..<end` as a string of their own. Both must lie on scalar boundaries; offsets past the
  /// end are brought back to it.
  func octets(_ start: Int, _ end: Int) -> String {
    let first = utf8.index(utf8.startIndex, offsetBy: start, limitedBy: utf8.endIndex) ?? utf8.endIndex
    let last = utf8.index(first, offsetBy: Swift.max(0, end - start), limitedBy: utf8.endIndex) ?? utf8.endIndex
    return String(self[first..<last])
  }

  /// Returns whether the octets `start..<end` are those of `other`.
  func hasOctets(_ other: String, from start: Int, to end: Int) -> Bool {
    guard other.utf8.count == end - start else { return false }
    let first = utf8.index(utf8.startIndex, offsetBy: start, limitedBy: utf8.endIndex) ?? utf8.endIndex
    return utf8[first...].starts(with: other.utf8)
  }
}
