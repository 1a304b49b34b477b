public import Addresses
import Crypto

/// An entry of a block list that another service keeps: the hash of a bare address, or of a domain. Nobody can read from
/// it whom it is about who does not know the address already.
public struct BlocklistEntry: Hashable, Sendable {
  /// The list, as `SERVICE/NODE`.
  public let source: String
  /// SHA-256 of the address's normal form in UTF-8.
  public let hash: [UInt8]

  public init(source: String, hash: [UInt8]) {
    self.source = source
    self.hash = hash
  }

  /// Returns the hashes under which somebody may be listed: of their bare address, and of their domain.
  public static func hashes(of address: BareJID) -> [[UInt8]] {
    [address.description, address.domain].map { Array(SHA256.hash(data: Array($0.utf8))) }
  }
}

extension BlocklistEntry: Record {
  public enum Field: String, CaseIterable, Sendable { case source, hash }
  public static let kind = "blocklist"
  public static let key: [Field] = [.source, .hash]
  public var fields: [FieldValue] { [source.field, hash.field] }
  public init(_ fields: inout FieldReader) throws {
    source = try fields.next()
    hash = try fields.next()
  }
}

extension FederationService {
  public func isListed(_ address: BareJID) -> Bool { false }
}

extension Judge {
  /// Checks that somebody elsewhere who is no member of a room is on no block list.
  func checkListed(_ party: Party, _ affiliation: Affiliation) throws(Problem) {
    guard !affiliation.isMember, isElsewhere(party), hub.federation?.isListed(party.address) == true else { return }
    throw Problem.addressListed
  }
}

extension Problem {
  static let addressListed = Problem(
    .forbidden, "address-listed", "This address is on a block list that the operators of this server use.")
}
