public import Addresses
import Basics
public import Dialogs
import Logging

/// Accounts with a password, created by their users or by an operator.
extension Accounts {
  /// Creates an account.
  ///
  /// - Parameter invite: the invitation, which is used up, and its inviter made a contact, in the same transaction.
  /// - Throws: `.conflict` `name-taken` if the name is or was taken, `name-reserved`; `.missing` if the invitation is used up.
  public func register(
    _ address: BareJID, password: String, displayName: String?, invite: Invite? = nil
  ) async throws(Problem) -> User {
    let row = NewUser(
      address: address, password: password, displayName: displayName, invite: invite, isRegistering: true)
    return try await importUsers([row])[0].get()
  }

  public struct NewUser: Sendable {
    public let address: BareJID
    let secret: Secret
    public let displayName: String?
    let invite: Invite?
    let isDisabled: Bool
    /// Whether the account is one of another server: it keeps its name, also one that no new account gets.
    let isMoved: Bool
    /// Whether the user creates the account, and has chosen its name.
    let isRegistering: Bool
    /// The identities by which the user signs in, besides a password.
    let identities: [Identity]
    /// The password, or what another server has kept of it.
    enum Secret: Sendable {
      case password(String)
      case keys([SCRAMKeys])
      /// Others vouch for the user.
      case absent
    }
    /// Creates a row; without a password the user signs in by an identity.
    public init(
      address: BareJID, password: String?, displayName: String?, invite: Invite? = nil, isDisabled: Bool = false,
      isMoved: Bool = false, isRegistering: Bool = false, identities: [Identity] = []
    ) {
      self.isMoved = isMoved
      self.isRegistering = isRegistering
      self.invite = invite
      self.isDisabled = isDisabled
      self.identities = identities
      self.address = address
      secret = if let password { .password(password) } else { .absent }
      self.displayName = displayName
    }
    /// Creates a row from the keys of one password, one per hash, which another server had. Without any, nobody can log
    /// in until a password is set.
    public init(address: BareJID, keys: [SCRAMKeys], displayName: String?, isDisabled: Bool = false) {
      invite = nil
      identities = []
      isMoved = true
      isRegistering = false
      self.isDisabled = isDisabled
      self.address = address
      secret = .keys(keys)
      self.displayName = displayName
    }
    var password: String? { if case .password(let password) = secret { password } else { nil } }
    /// The reason why its password or keys are refused; `nil` if they are not.
    var refusal: Problem? {
      if let password { return Accounts.refusal(of: password) }
      if case .failure(let problem)? = ready { return problem }
      return nil
    }
    /// The keys that need no derivation; `nil` for a password.
    var ready: Result<[SCRAMKeys], Problem>? {
      let keys: [SCRAMKeys]
      switch secret {
      case .password: return nil
      case .absent: return .success([])
      case .keys(let found): keys = found
      }
      guard keys.allSatisfy(\.isComplete), Set(keys.map(\.hash)).count == keys.count else {
        return .failure(
          Problem(.malformed, "keys-invalid", "The SCRAM keys have not the lengths of their hash.", field: "scram"))
      }
      return .success(keys.isEmpty ? SCRAMHash.allCases.map { SCRAMKeys.locked(hash: $0) } : keys)
    }
  }

  /// Creates many accounts: keys derived on all cores, one transaction. The results are in the order of `rows`; a
  /// failing row does not affect the others.
  ///
  /// - Parameter byOperator: whether an operator creates them, who may create any (`ReservedNames`).
  public func importUsers(_ rows: [NewUser], byOperator: Bool = false) async -> [Result<User, Problem>] {
    let iterations = AccountLimits.scramIterations
    let passwords = rows.compactMap(\.password)
    let derived: [Result<[SCRAMKeys], Problem>] = await withTaskGroup(
      of: (Int, [Result<[SCRAMKeys], Problem>]).self
    ) { group in
      // One job has as many rows as are derived at a time: so the jobs are spread over the cores.
      for start in stride(from: 0, to: passwords.count, by: SCRAMKeys.laneCount) {
        let passwords = Array(passwords[start..<min(start + SCRAMKeys.laneCount, passwords.count)])
        group.addTask { [self] in
          (start, await derive { Self.keys(for: passwords, iterations: iterations) })
        }
      }
      var results = [Result<[SCRAMKeys], Problem>](repeating: .failure(.storage), count: passwords.count)
      for await (start, keys) in group { results.replaceSubrange(start..<start + keys.count, with: keys) }
      var next = results.makeIterator()
      return rows.map { $0.ready ?? next.next() ?? .failure(.storage) }
    }
    do throws(Problem) {
      let realms = parley.realmTable
      let now = parley.clock.now
      let work = WriteTransaction(following: { [self] writer in
        var results: [Result<User, Problem>] = []
        var posts: [Post] = []
        for (row, keys) in zip(rows, derived) {
          let result = try insert(row, keys, byOperator: byOperator, realms: realms, now: now, writer)
          if let invite = row.invite, case .success(let user) = result {
            posts += try meeting(invite, user, writer).map { [$0] } ?? []
          }
          if case .success(let user) = result {
            posts.append(Parley.enrolment(of: user.id))
            try note(.userCreated, of: user.id, in: user.realm, writer)
          }
          results.append(result)
        }
        return (results, posts)
      })
      guard let results = try await parley.post(.work(work), by: Parley.nobody).value as? [Result<User, Problem>] else {
        throw Problem.storage
      }
      if rows.contains(where: { $0.password == nil }) { try await countHashes() }
      return results
    } catch {
      return rows.map { _ in .failure(error) }
    }
  }

  /// Returns the refusal of each row that `importUsers` would answer with; `nil` for one that it would take. Nothing is
  /// written.
  public func refusals(of rows: [NewUser], byOperator: Bool = false) async throws(Problem) -> [Problem?] {
    let realms = parley.realmTable
    let now = parley.clock.now
    return try await parley.read { [self] reader -> [Problem?] in
      try rows.map { row -> Problem? in
        if let refusal = row.refusal { return refusal }
        if let obstacle = try obstacle(to: row, byOperator: byOperator, realms: realms, now: now, reader) {
          return obstacle
        }
        return try reader.user(row.address) == nil ? nil : .nameTaken(row.address)
      }
    }
  }

  /// Returns the reason why a row cannot become an account, whatever its password is; `nil` if it can.
  private func obstacle(
    to row: NewUser, byOperator: Bool, realms: RealmTable, now: Timestamp, _ reader: any StoreReader
  ) throws -> Problem? {
    guard let realm = realms.realm(domain: row.address.domain), !realm.id.isRemote else {
      return Problem(.foreign, "domain-not-served", "\(row.address.domain) is not served here.", field: "jid")
    }
    guard row.address.local != nil else {
      return Problem(.malformed, "name-missing", "An account needs a name before the @.", field: "jid")
    }
    if let name = row.displayName {
      do throws(Problem) { try PlainText.check(name, field: "name") } catch { return error }
      if name.utf8.count > Limits.displayNameBytesMax {
        return Problem(
          .tooLarge, "name-too-long", "name has at most \(Limits.displayNameBytesMax) bytes.", field: "name")
      }
    }
    // Only operators fix the name of an invitation.
    if row.isRegistering, row.invite?.name == nil, let problem = Self.refusal(ofChosen: row.address) { return problem }
    if let obstacle = try obstacle(
      to: row.address, row.invite, in: realm.id, byOperator: byOperator, isMoved: row.isMoved, now: now, reader)
    {
      return obstacle
    }
    return try row.identities.contains { try reader.user(of: $0, in: realm.id) != nil } ? .identityTaken : nil
  }

  /// Returns the reason why a user cannot choose a name; `nil` if they can. Operators and backends may give any.
  private static func refusal(ofChosen address: BareJID) -> Problem? {
    guard let name = address.local, NickLook.isMixed(name) else { return nil }
    return Problem(
      .malformed, "username-mixed",
      "\(name) has letters of several alphabets, and may look like another name. Use letters of one alphabet.",
      field: "username")
  }

  private func insert(
    _ row: NewUser, _ keys: Result<[SCRAMKeys], Problem>, byOperator: Bool, realms: RealmTable, now: Timestamp,
    _ writer: any StoreWriter
  ) throws -> Result<User, Problem> {
    guard case .success(let keys) = keys else { return keys.map { _ in preconditionFailure("a failure has no keys") } }
    if let obstacle = try obstacle(to: row, byOperator: byOperator, realms: realms, now: now, writer) {
      return .failure(obstacle)
    }
    guard let realm = realms.realm(domain: row.address.domain) else { return .failure(Problem.unreachable) }
    do {
      var user = try writer.insertUser(
        row.address, in: realm.id, profile: Profile(displayName: row.displayName), createdAt: now)
      if row.isDisabled {
        user.state = .disabled
        try writer.update(user)
      }
      if !keys.isEmpty { try writer.setCredentials(keys, for: user.id) }
      if byOperator { try confirmIfReserved(user, writer) }
      let party = Party(id: user.id, realm: user.realm, address: user.address)
      for identity in row.identities { try Self.bind(identity, to: party, now: now, writer) }
      if let invite = row.invite { try writer.setUsed(invite.id) }
      // Those whom an operator has invited are as those whom an operator has created.
      if row.isRegistering, row.invite == nil || row.invite?.inviter != nil {
        try Invites.noteRegistered(user.id, writer)
      }
      return .success(user)
    } catch is StoreConflict {
      return .failure(.nameTaken(row.address))
    }
  }

  /// Creates an account with a password, and an address proved by its code.
  ///
  /// - Parameter name: the localpart; `nil` for a random one.
  /// - Throws: `.conflict` `identity-taken`, `name-taken`; the errors of `redeem`.
  public func register(
    _ name: BareJID?, password: String, displayName: String?, by identity: Identity, code: String, in realm: RealmID,
    from network: String
  ) async throws(Problem) -> User {
    guard let domain = parley.realmTable.realm(realm)?.domain else { throw Problem.unreachable }
    let keys = try await keys(for: password)
    let now = parley.clock.now
    if let name, let refusal = Self.refusal(ofChosen: name) { throw refusal }
    // A reserved name that nobody has is no secret.
    if let name, parley.registries.administrators.isReserved(name) || ReservedWords.contains(name.local ?? ""),
      try await parley.read({ try $0.user(name) }) == nil,
      let refusal = parley.registries.administrators.refusal(of: name)
    {
      throw refusal
    }
    // A person without a code does not learn which names there are. An unavailable name does not use up the code, but one of
    // its attempts.
    try await redeem(code: code, for: identity, of: nil, in: realm, from: network) { [self] reader in
      guard let name else { return nil }
      if try reader.user(name) != nil { return Problem.nameTaken(name) }
      return try obstacle(to: name, nil, in: realm, now: now, reader)
    }
    return try await parley.enrolling { [self] writer in
      if try writer.user(of: identity, in: realm) != nil {
        throw Problem.identityTaken
      }
      let user: User
      if let name {
        if let obstacle = try obstacle(to: name, nil, in: realm, now: now, writer) { throw obstacle }
        do {
          user = try writer.insertUser(name, in: realm, profile: Profile(displayName: displayName), createdAt: now)
        } catch is StoreConflict { throw Problem.nameTaken(name) }
      } else {
        user = try insert(
          Newcomer(displayName: displayName), domain: domain, in: realm, now: now, writer)
      }
      try writer.setCredentials(keys, for: user.id)
      try Invites.noteRegistered(user.id, writer)
      try writer.put(UserIdentity(identity, of: user.id, since: now), in: realm)
      try note(.userCreated, of: user.id, in: realm, writer)
      return user
    }
  }

  /// Returns the reason why no account of this address may be created now; `nil` if it may. The expiry is not checked:
  /// the door did so when it admitted the guest.
  func obstacle(
    to address: BareJID, _ invite: Invite?, in realm: RealmID, byOperator: Bool = false, isMoved: Bool = false,
    now: Timestamp, _ reader: any StoreReader
  ) throws -> Problem? {
    let administrators = parley.registries.administrators
    if let refusal = administrators.refusal(of: address, byOperator: byOperator, isMoved: isMoved) {
      // A name that is taken is refused as any other, so that the refusal does not tell who administers.
      return try reader.user(address) == nil ? refusal : nil
    }
    // An invitation that fixed the name before it was reserved does not stop the operator: nobody else can use it.
    if administrators.isReserved(address) { return nil }
    if let invite {
      let isGood = try reader.invite(token: invite.token).map { $0.id == invite.id && !$0.isUsed } ?? false
      guard isGood, invite.realm == realm, try Self.isLetIn(by: invite, reader) else {
        return Problem(.missing, "invitation-unknown", "This invitation is used up or was taken back.", field: "token")
      }
      if let name = invite.name, name != address.local {
        return Problem(.forbidden, "name-fixed", "This invitation is for the name \(name).", field: "username")
      }
    }
    if let name = address.local,
      let reserving = try reader.invite(reserving: name, in: realm, after: Invites.outlived(now)),
      reserving.id != invite?.id
    {
      return Invites.reserved(address)
    }
    return nil
  }

  private static func isLetIn(by invite: Invite, _ reader: any StoreReader) throws -> Bool {
    guard let inviter = invite.inviter else { return true }
    return try reader.user(inviter)?.state == .active
  }

  /// Returns the post that makes a new account and its inviter contacts; `nil` if there is no inviter. The account
  /// stays if it is refused.
  func meeting(_ invite: Invite, _ user: User, _ reader: any StoreReader) throws -> Post? {
    guard let inviter = invite.inviter, let host = try reader.party(inviter) else { return nil }
    let party = Party(id: user.id, realm: user.realm, address: user.address)
    let link = Intent.link(host.address, name: nil, groups: nil, mutual: true)
    return Post(
      author: party, intent: link,
      completion: .callback { [logger = parley.logger] result in
        guard case .failure(let problem) = result else { return }
        logger.warning(
          "an invited user did not become a contact",
          metadata: ["user": "\(user.address)", "reason": "\(problem.text)"])
      })
  }
}

extension Problem {
  static let passwordRefused = Problem(
    .malformed, "password-refused",
    "This password has characters that a password must not have (RFC 8265 4), or is too long.", field: "password")
}
