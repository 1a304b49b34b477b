import Basics
import Crypto
public import Dialogs

/// Several identities of one user, and guests who become users.
extension Accounts {
  public func identities(of user: UserID) async throws(Problem) -> [UserIdentity] {
    try await parley.read { try $0.identities(of: user) }
  }

  /// Binds the identity of a token to a logged-in user. A guest becomes an ordinary user by it: the same user, at the
  /// same address, with all their data.
  ///
  /// - Returns: `false` if they already had it.
  /// - Throws: the errors of `logIn(by:in:device:client:)`; `.conflict` `identity-taken`; `.tooLarge`
  ///   `too-many-identities`.
  public func link(
    _ token: IdentityToken, to user: Party
  ) async throws(Problem) -> (identity: UserIdentity, isNew: Bool) {
    let (proof, nonce) = try await prove(token, in: user.realm)
    let now = parley.clock.now
    let linked: (identity: UserIdentity, isNew: Bool, user: User) = try await parley.work { writer in
      guard let row = try writer.user(user.id) else { throw Problem.unreachable }
      try Self.checkActive(row)
      if let nonce { try Self.use(nonce, in: user.realm, now: now, writer) }
      let before = try writer.identities(of: user.id)
      if let found = before.first(where: { $0.identity == proof.identity }) { return (found, false, row) }
      guard before.count + proof.contacts.count < AccountLimits.identitiesPerUserMax else {
        throw Problem(
          .tooLarge, "too-many-identities",
          "A user has at most \(AccountLimits.identitiesPerUserMax) identities; remove one first.")
      }
      try Self.bind(proof.identity, to: user, now: now, writer)
      try Self.bindFree(proof.contacts, to: row, now: now, writer)
      try Self.upgrade(row, writer)
      return (UserIdentity(proof.identity, of: user.id, since: now), true, row)
    }
    noteUpgrade(of: user.id)
    _ = await adopt(proof, linked.user)
    return (linked.identity, linked.isNew)
  }

  /// Removes an identity from a user. Logins by it continue.
  ///
  /// - Parameter id: its `Identity.id`.
  /// - Throws: `.missing` `identity-unknown`; `.conflict` `last-sign-in` if it is the user's last way to sign in.
  public func unlink(_ id: String, from user: Party) async throws(Problem) {
    try await remove(
      from: user, where: { $0.id == id }, none: "You have no such identity.", field: "identityId")
  }

  /// Removes identities from a user, but never their last way to sign in.
  ///
  /// - Parameters:
  ///   - none, field: the text and field of the refusal if there are none to remove.
  func remove(
    from user: Party, where isGone: @escaping @Sendable (Identity) -> Bool, none: String, field: String? = nil
  ) async throws(Problem) {
    guard let domain = parley.realmTable.realm(user.realm)?.domain else { throw Problem.unreachable }
    let (policy, reached) = (options.signIn, reaches)
    try await parley.work(keepingCaches: true) { writer in
      let all = try writer.identities(of: user.id).map(\.identity)
      let gone = all.filter(isGone)
      guard !gone.isEmpty else { throw Problem(.missing, "identity-unknown", none, field: field) }
      let ways = all.filter { policy.letsIn($0, domain, sendingTo: reached) }
      let others = ways.filter { !isGone($0) }
      guard try ways.count == others.count || !others.isEmpty || Self.hasPassword(user.id, writer) else {
        throw Problem(
          .conflict, "last-sign-in", "Nothing else lets you in: link another identity or set a password first.")
      }
      for identity in gone {
        try Self.checkNotSent(to: identity.issuer, of: user.id, writer)
        try writer.remove(identity, of: user.id)
      }
    }
  }

  /// Returns whether the user has a password of their own. One without may have credentials all the same: the salts of
  /// app passwords.
  public static func hasPassword(_ user: UserID, _ reader: any StoreReader) throws -> Bool {
    try reader.credentials(of: user).contains { !$0.isLocked }
  }

  // MARK: Guests who become users

  /// Makes a guest an ordinary user, in the transaction that gives them a way to sign in. `noteUpgrade` must follow
  /// when it is durable.
  ///
  /// A guest who has become a user is never removed as a guest: the removal checks this mark in a transaction too. And
  /// a guest whose removal has begun is disabled, and cannot become a user.
  public static func upgrade(_ user: User, _ writer: any StoreWriter) throws {
    guard user.isGuest else { return }
    try checkActive(user)
    try writer.endGuest(user.id)
  }

  /// Frees the guest's place, and ends their restrictions.
  public func noteUpgrade(of user: UserID) {
    parley.registries.guests.remove(user)
    parley.submitSurely(Parley.enrolment(of: user))
  }
}

extension SignInPolicy {
  /// Returns whether this identity currently allows to sign in.
  ///
  /// - Parameter reached: the issuers whose subjects codes can be sent to.
  func letsIn(_ identity: Identity, _ domain: String, sendingTo reached: Set<Identity.Issuer>) -> Bool {
    switch identity.issuer {
    case .external: verifier?.hasBackend(domain) ?? false
    case .provider(let name): verifier?.providers(of: domain).contains(name) ?? false
    case .email, .phone: reached.contains(identity.issuer)
    }
  }
}

extension Identity {
  /// The public id among the user's identities, derived from the identity and so stable.
  public var id: String {
    let name =
      switch issuer {
      case .external: "external"
      case .email: "email"
      case .phone: "phone"
      case .provider(let name): "provider:\(name)"
      }
    return Base64URL.string(SHA256.hash(data: Array("\(name)\0\(subject)".utf8)).prefix(12))
  }
}
