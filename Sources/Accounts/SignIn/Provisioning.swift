import Addresses
import Basics
public import Dialogs

extension Accounts {
  /// The backend's data for a new user.
  public struct Provision: Sendable {
    /// The localpart; `nil` for a random one.
    public var name: String?
    /// The password; `nil` for none.
    public var password: String?
    public var displayName: String?
    /// The identities of the user.
    public var identities: [Identity]
    public init(name: String? = nil, password: String? = nil, displayName: String? = nil, identities: [Identity] = []) {
      self.name = name
      self.password = password
      self.displayName = displayName
      self.identities = identities
    }
  }

  /// Creates an account with its identities, all in one transaction.
  ///
  /// - Parameter byOperator: whether an operator creates it, who may create any (`ReservedNames`).
  /// - Throws: `.conflict` `name-taken`, `name-reserved` or `identity-taken`; `.malformed`, `.tooLarge`.
  public func provision(
    _ provision: Provision, in realm: Realm, byOperator: Bool = false
  ) async throws(Problem) -> User {
    if let name = provision.displayName {
      try PlainText.check(name, field: "name")
      if name.utf8.count > Limits.displayNameBytesMax {
        throw Problem(
          .tooLarge, "name-too-long", "name has at most \(Limits.displayNameBytesMax) bytes.", field: "name")
      }
    }
    var address: BareJID?
    if let name = provision.name {
      do { address = try BareJID(local: name, domain: realm.domain) } catch {
        throw Problem(.malformed, "user-id-malformed", "This is no name for a user: \(error).", field: "username")
      }
    }
    var keys: [SCRAMKeys] = []
    if let password = provision.password {
      keys = try await derive { Self.keys(for: [password], iterations: AccountLimits.scramIterations)[0] }.get()
    }
    let now = parley.clock.now
    return try await parley.enrolling { [self, address, keys] writer in
      let user: User
      if let address {
        if let obstacle = try obstacle(to: address, nil, in: realm.id, byOperator: byOperator, now: now, writer) {
          throw obstacle
        }
        do {
          user = try writer.insertUser(
            address, in: realm.id, profile: Profile(displayName: provision.displayName), createdAt: now)
        } catch is StoreConflict {
          // Others do not learn it, as a name that looks like an administrator's is refused with the same text.
          throw Problem.nameTaken(address, by: try byOperator ? writer.user(address) : nil)
        }
      } else {
        user = try insert(
          Newcomer(displayName: provision.displayName), domain: realm.domain, in: realm.id, now: now, writer)
      }
      if !keys.isEmpty { try writer.setCredentials(keys, for: user.id) }
      if byOperator { try confirm(user, writer) }
      let party = Party(id: user.id, realm: user.realm, address: user.address)
      for identity in provision.identities { try Self.bind(identity, to: party, now: now, writer) }
      try note(.userCreated, of: user.id, in: realm.id, writer)
      return user
    }
  }

  /// Logs a user in by the authority of the backend.
  ///
  /// - Throws: `.forbidden` if the account is disabled.
  public func logIn(as user: User, device: String?, client: String?) async throws(Problem) -> Login {
    try await logIn(user, proved: nil, device: device, client: client)
  }

  /// Replaces the user's identity of an issuer; without a subject, removes it.
  public func setIdentity(
    _ issuer: Identity.Issuer, _ subject: String?, of user: Party
  ) async throws(Problem) {
    let now = parley.clock.now
    try await parley.work(keepingCaches: true) { writer in
      for old in try writer.identities(of: user.id) where old.identity.issuer == issuer {
        try writer.remove(old.identity, of: user.id)
      }
      if let subject { try Self.bind(Identity(issuer, subject), to: user, now: now, writer) }
    }
  }
}
