public import Addresses
public import Basics
import Synchronization

/// A user who has been made an administrator (`parley user role`), beside those whom the configuration names.
public struct Administrator: Hashable, Sendable {
  public let user: UserID
  public let since: Timestamp

  public init(user: UserID, since: Timestamp) {
    self.user = user
    self.since = since
  }
}

extension Administrator: Record {
  public enum Field: String, CaseIterable, Sendable { case user, since }
  public static let kind = "administrators"
  public static let key: [Field] = [.user]
  public var fields: [FieldValue] { [user.field, since.field] }
  public init(_ fields: inout FieldReader) throws {
    user = try fields.next()
    since = try fields.next()
  }
}

extension RecordReader {
  /// Returns the users who have been made administrators, of all realms.
  public func administrators() throws -> [Administrator] { try records(Administrator.self) }
}

extension Problem {
  /// The refusal of a reserved address to all but operators.
  package static func nameReserved(_ address: BareJID) -> Problem {
    Problem(
      .conflict, "name-reserved",
      "The name \(address) is reserved. Choose another one. The server's operator can create this account, on its own "
        + "machine: parley user add \(address)", field: "username")
  }

  /// The refusal of a reserved word to everybody.
  package static func nameAmbiguous(_ address: BareJID) -> Problem {
    Problem(
      .conflict, "name-reserved",
      "Nobody can be called \(address.local ?? ""), which means something else in the path of a request. Choose another "
        + "name.", field: "username")
  }

  /// The refusal of an address that a user has, or has had, or that looks like a reserved one.
  ///
  /// - Parameter holder: The user of that address, for an operator; nil for all others, who do not learn which of these it is.
  package static func nameTaken(_ address: BareJID, by holder: User? = nil) -> Problem {
    let text =
      switch holder?.state {
      case .active?, .disabled?: "\(address) exists already. To see it: parley user show \(address)"
      case .deleted?: "\(address) belonged to a deleted user, and names are never reused. Choose another one."
      case nil:
        "\(address) exists, belonged to a deleted user (names are never reused), or looks too much like another name."
      }
    return Problem(.conflict, "name-taken", text, field: "username")
  }
}

/// The administrators of all realms, in memory: both doors ask it for each act, so that who is none any more is refused
/// at once. An administrator looks after the users of their own realm, whichever door they come by.
public final class AdministratorRegistry: Sendable {
  private struct State {
    var made: Set<UserID>
    /// The addresses that only an operator gives an account, those that the configuration names among them.
    var reserved: Set<BareJID> {
      didSet { if reserved != oldValue { looks = Self.looks(of: reserved) } }
    }
    /// The looks of their names, by domain.
    private(set) var looks: [String: [NickLook]]
    /// The change that `made` is of, and the last one that has begun.
    var reached: UInt64 = 0
    var begun: UInt64 = 0

    init(made: Set<UserID>, reserved: Set<BareJID>) {
      self.made = made
      self.reserved = reserved
      looks = Self.looks(of: reserved)
    }

    private static func looks(of addresses: Set<BareJID>) -> [String: [NickLook]] {
      var looks: [String: [NickLook]] = [:]
      for address in addresses {
        if let name = address.local { looks[address.domain, default: []].append(NickLook(name)) }
      }
      return looks
    }
  }
  /// The addresses that the configuration names.
  private let configured: Set<BareJID>
  private let state: Mutex<State>

  /// Loads the registry; blocks.
  init(_ reader: any StoreReader, configured: Set<BareJID>, reserved: Set<BareJID>) throws {
    self.configured = configured
    state = Mutex(
      State(
        made: Set(try reader.administrators().map(\.user)), reserved: reserved.union(configured)))
  }

  public func contains(_ party: Party) -> Bool {
    configured.contains(party.address) || state.withLock { $0.made.contains(party.id) }
  }

  /// Returns whether the configuration names the address, of which only the configuration can take that back.
  public func isConfigured(_ address: BareJID) -> Bool { configured.contains(address) }

  /// Returns the reason why the address gets no new account, whoever invites; `nil` if there is none.
  ///
  /// - Parameters:
  ///   - byOperator: whether an operator creates it, who may give an account to an address with power.
  ///   - isMoved: whether the account is one of another server, by whose name others know the user.
  package func refusal(of address: BareJID, byOperator: Bool = false, isMoved: Bool = false) -> Problem? {
    if !isMoved, ReservedWords.contains(address.local ?? "") { return .nameAmbiguous(address) }
    if byOperator { return nil }
    if isReserved(address) { return .nameReserved(address) }
    // As a name that is taken, so that the refusal does not tell whose name is imitated, and so who administers.
    return !isMoved && looksReserved(address) ? .nameTaken(address) : nil
  }

  /// Returns whether an address looks like one that is reserved, as `аlice` with a Cyrillic letter and `a1ice` look like
  /// `alice`.
  private func looksReserved(_ address: BareJID) -> Bool {
    guard let name = address.local,
      let looks = state.withLock({ $0.looks[address.domain] })
    else { return false }
    let look = NickLook(name)
    return looks.contains { $0.looks(like: look) }
  }

  /// Returns whether only an operator may give the address an account: the configuration gives it power or authority,
  /// which must not be whoever's registers it.
  public func isReserved(_ address: BareJID) -> Bool { state.withLock { $0.reserved.contains(address) } }

  /// Reserves further addresses: those that a changed configuration names, before it is in force.
  package func reserve(_ addresses: some Sequence<BareJID>) { state.withLock { $0.reserved.formUnion(addresses) } }

  /// The addresses that the configuration names.
  public var configuredAddresses: Set<BareJID> { configured }

  /// Returns the number of a change, within its transaction: transactions run one after the other.
  package func beginChange() -> UInt64 {
    state.withLock { state in
      state.begun += 1
      return state.begun
    }
  }

  /// Replaces those who were made administrators, once that is committed. An earlier change than the last is ignored.
  package func set(_ made: Set<UserID>, change: UInt64) {
    state.withLock { state in
      guard change > state.reached else { return }
      (state.made, state.reached) = (made, change)
    }
  }
}
