public import Addresses
public import Basics
public import Dialogs

// The names to which the configuration gives power or authority before anybody has them. Theory:
//
// `admins` and `contact.*` name addresses, not accounts. A stranger who registered such an address would be an
// administrator, or would be taken for the server's own contact. So such an address is reserved: its account is created by
// an operator's command on the server's own machine, and not by registration, invitations, codes, tokens and app keys.
//
// An account that exists when its address is put into `admins` may be the right person's or a stranger's, which only the
// operator knows. It is *confirmed* once an operator has created it, or has made its user an administrator by command. An
// account that is not confirmed is named at each start and by `parley check`; it is an administrator all the same, since
// the configuration says so. A contact that has an account already is not questioned: it has no power here.
extension Accounts {
  /// A reason for the operator to look at an address that the configuration names.
  public struct Doubt: Hashable, Sendable {
    public enum Reason: Hashable, Sendable {
      case missing, deleted
      /// No operator has created the account.
      case unconfirmed(since: Timestamp)
    }
    public let address: BareJID
    /// The key of the configuration that names it.
    public let key: String
    public let reason: Reason

    public init(_ address: BareJID, namedBy key: String, _ reason: Reason) {
      self.address = address
      self.key = key
      self.reason = reason
    }

    /// The sentence for the operator.
    public var text: String {
      switch reason {
      case .missing: "\(key) names \(address), which has no account. Create it: parley user add \(address)"
      case .deleted:
        "\(key) names \(address), whose account was deleted. Nobody can have this name again: remove it from \(key)."
      case .unconfirmed(let time):
        "\(key) names \(address), an account that exists since \(time) and that no operator has created or confirmed. It is "
          + "an administrator. If its user is the right person, confirm it: parley user role \(address) admin. If not, "
          + "remove the address from \(key) and restart."
      }
    }
  }

  /// The key that makes administrators.
  private static let admins = "admins"

  /// Returns the doubts about addresses that the configuration names, by address.
  ///
  /// - Parameter names: the addresses, each with the key that names it.
  public func doubts(about names: [BareJID: String]) async throws(Problem) -> [Doubt] {
    try await parley.read { try Self.doubts(about: names, $0) }
  }

  /// Returns the same from a store that is open for reading.
  public static func doubts(about names: [BareJID: String], _ reader: any StoreReader) throws -> [Doubt] {
    try names.sorted { $0.key.description < $1.key.description }.compactMap { address, key in
      guard let user = try reader.user(address) else { return Doubt(address, namedBy: key, .missing) }
      if user.state == .deleted { return Doubt(address, namedBy: key, .deleted) }
      if try key != admins || isConfirmed(user, reader) { return nil }
      return Doubt(address, namedBy: key, .unconfirmed(since: user.createdAt))
    }
  }

  private static let node = "parley:administrator"
  private static let item = "confirmed"

  static func isConfirmed(_ user: User, _ reader: any StoreReader) throws -> Bool {
    try reader.value(of: user.id, node: node, item: item) != nil
  }

  /// Stores that an operator has created the account or vouches for it.
  func confirm(_ user: User, _ writer: any StoreWriter) throws {
    try writer.setValue(of: user.id, node: Self.node, item: Self.item, [])
  }

  /// Stores the same if the address is reserved: an import of many accounts stores it for no others.
  func confirmIfReserved(_ user: User, _ writer: any StoreWriter) throws {
    if parley.registries.administrators.isReserved(user.address) { try confirm(user, writer) }
  }
}
