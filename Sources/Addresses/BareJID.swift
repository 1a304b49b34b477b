/// A normalised address without a resourcepart: `localpart@domainpart` or `domainpart` (RFC 6120 1.4, RFC 7622 3.5). It
/// names an account, a room or a service, not one of its connections or occupants.
public struct BareJID: Hashable, Sendable, CustomStringConvertible {
  /// The normal form.
  public let description: String
  /// The octets of the localpart; 0 if there is none.
  let localLength: UInt16

  init(normal text: String, localLength: UInt16) {
    self.description = text
    self.localLength = localLength
  }

  /// Parses and enforces the rules of RFC 7622 3; a resourcepart is an error (`JIDError.unexpected`).
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

  /// Reads an address that this server has stored (`JID.init(stored:)`).
  public init?(stored string: String) {
    guard let jid = JID(stored: string), jid.isBare else { return nil }
    self = jid.bare
  }

  /// Creates a bare JID from a JID without a resourcepart.
  public init(_ jid: JID) throws(JIDError) {
    guard jid.isBare else { throw .unexpected(.resource) }
    self = jid.bare
  }

  /// Joins and enforces parts.
  public init(local: String?, domain: String) throws(JIDError) {
    self = try JID(local: local, domain: domain, resource: nil).bare
  }

  /// The localpart, if there is one.
  public var local: String? { localLength == 0 ? nil : description.octets(0, Int(localLength)) }

  /// The domainpart; never empty.
  public var domain: String { description.octets(domainStart, description.utf8.count) }

  private var domainStart: Int { localLength == 0 ? 0 : Int(localLength) + 1 }

  /// Returns whether the domainpart equals one in normal form, without copying it out.
  public func hasDomain(_ domain: String) -> Bool {
    description.hasOctets(domain, from: domainStart, to: description.utf8.count)
  }

  /// Returns this address with a resourcepart, which is enforced (RFC 7622 3.4).
  public func full(_ resource: String) throws(JIDError) -> FullJID {
    let resource = try JID.enforceResource(resource)
    let domainEnd = description.utf8.count
    return FullJID(
      normal: "\(description)/\(resource)", JIDOffsets(localLength: Int(localLength), domainEnd: domainEnd))
  }

  /// The address as a `JID`.
  public var jid: JID { JID(self) }

  /// Returns this address with a resourcepart that is in normal form already, such as a session's resource or a nick, and is not enforced
  /// again; the bare address if there is none, or an empty one.
  public func jid(normal resource: String?) -> JID {
    guard let resource, !resource.isEmpty else { return JID(self) }
    return JID(
      normal: "\(description)/\(resource)",
      JIDOffsets(localLength: Int(localLength), domainEnd: description.utf8.count))
  }

  public static func == (one: BareJID, other: BareJID) -> Bool { one.description == other.description }

  public func hash(into hasher: inout Hasher) { hasher.combine(description) }
}
