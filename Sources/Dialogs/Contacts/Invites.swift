import Addresses
import Logging

/// Invitations: who may make them, and what comes of their tokens.
extension Parley {
  /// An invitation with its token, which is told once and kept by nobody here.
  public struct NewInvite: Sendable {
    public let invite: Invite
    public let token: String
  }

  /// What somebody with a token sees of its invitation.
  public struct OpenInvite: Sendable {
    public enum State: Sendable { case open, used, expired }
    public let invite: Invite
    public let state: State
    public let realm: Realm
    /// nil: an operator.
    public let inviter: User?
    /// Whether an account may be made with it.
    public let makesAccount: Bool
  }

  /// Whether this user may invite others.
  public func mayInvite(_ party: Party) -> Bool {
    options.allowsInvitations && !isGuest(party.id) || options.admins.contains(party.address)
  }

  /// Makes an invitation.
  ///
  /// - Parameter asker: nil: an operator. Users invite their own contacts only, admins also as operators do.
  /// - Throws: `.forbidden`; `.conflict` where the name is somebody's or reserved; `.tooFast` at `Limits.invitesPerUserMax`.
  public func makeInvite(_ draft: InviteDraft, by asker: Party?) async throws(Problem) -> NewInvite {
    if let asker {
      let isOwn =
        !isGuest(asker.id) && draft.kind == .contact && draft.inviter == asker && draft.name == nil
        && draft.realm == asker.realm
      guard options.admins.contains(asker.address) || options.allowsInvitations && isOwn else {
        throw Problem(.forbidden, "invitations-off", "This server's operators invite.")
      }
    }
    guard let realm = realms.first(where: { $0.id == draft.realm }) else { throw Problem.unreachable }
    let address = draft.name.flatMap { try? BareJID(local: $0, domain: realm.domain) }
    if let name = draft.name, address == nil {
      throw Problem(.malformed, "username-malformed", "\(name) cannot be the name of a user.", field: "username")
    }
    let token = InviteToken.make()
    let now = clock.now
    let invite = Invite(
      realm: realm.id, kind: draft.kind, token: Token.hash(token), inviter: draft.inviter?.id, name: address?.local,
      createdAt: now, expires: now + Limits.inviteLifetime)
    let result: Result<Invite, Problem> = try await work(keepingCaches: true) { writer in
      try writer.removeInvites(before: Self.outlived(now))
      let most = invite.inviter == nil ? Limits.invitesOfOperatorsMax : Limits.invitesPerUserMax
      guard try writer.inviteCount(by: invite.inviter, in: realm.id) < most else {
        return .failure(
          Problem(
            .tooFast, "too-many-invitations", "There are \(most) invitations of the last days. Wait until some end."))
      }
      if let address, let name = address.local {
        if try writer.user(address) != nil {
          return .failure(Problem(.conflict, "name-taken", "The name \(address) is or was taken.", field: "username"))
        }
        if try writer.invite(reserving: name, in: realm.id, after: Self.outlived(now)) != nil {
          return .failure(Self.reserved(address))
        }
      }
      return .success(try writer.insert(invite))
    }
    return NewInvite(invite: try result.get(), token: token)
  }

  /// What there is behind a token; nil: nothing, or nothing any more.
  public func invite(token: String) async throws(Problem) -> OpenInvite? {
    let hash = Token.hash(token)
    let now = clock.now
    let found: (Invite, User?)? = try await read { reader in
      guard let invite = try reader.invite(token: hash) else { return nil }
      return (invite, try invite.inviter.flatMap { try reader.user($0) })
    }
    guard let (invite, inviter) = found, let realm = realms.first(where: { $0.id == invite.realm }) else { return nil }
    // Who is gone or locked out lets nobody in.
    if invite.inviter != nil, inviter?.state != .active { return nil }
    let state: OpenInvite.State = invite.isUsed ? .used : invite.expires <= now ? .expired : .open
    let makesAccount =
      switch invite.kind {
      case .account: true
      case .contact: options.allowsInvitations || inviter.map { options.admins.contains($0.address) } ?? true
      }
    return OpenInvite(invite: invite, state: state, realm: realm, inviter: inviter, makesAccount: makesAccount)
  }

  /// Those of a realm that are open, the oldest first.
  public func invites(in realm: RealmID) async throws(Problem) -> [Invite] {
    let now = clock.now
    return try await read { try $0.invites(in: realm, limit: Limits.invitesListed) }
      .filter { !$0.isUsed && $0.expires > now }
  }

  /// Takes an invitation back: its token opens nothing any more, the name it reserved is free.
  ///
  /// - Throws: `.missing`.
  public func revokeInvite(_ id: Int64) async throws(Problem) {
    guard try await work(keepingCaches: true, { try $0.removeInvite(id) }) else {
      throw Problem(.missing, "invitation-unknown", "There is no invitation \(id).")
    }
  }

  // MARK: What an account is made by

  /// Until when invitations must have ended to be forgotten: whoever was let in by one before it ended may still finish
  /// (XEP-0445 3.2).
  static func outlived(_ now: Timestamp) -> Timestamp { now + (.zero - Limits.inviteGrace) }

  static func reserved(_ address: BareJID) -> Problem {
    Problem(.conflict, "name-taken", "The name \(address) is reserved for somebody who is invited.", field: "username")
  }

  /// Why no account of this address may be made now; nil: it may. The time is not asked: the door did, when it let the guest in.
  static func obstacle(
    to address: BareJID, _ invite: Invite?, in realm: RealmID, now: Timestamp, _ writer: any StoreWriter
  ) throws -> Problem? {
    if let invite {
      let isGood = try writer.invite(token: invite.token).map { $0.id == invite.id && !$0.isUsed } ?? false
      guard isGood, invite.realm == realm, try isLetIn(by: invite, writer) else {
        return Problem(.missing, "invitation-unknown", "This invitation is used up or was taken back.", field: "token")
      }
      if let name = invite.name, name != address.local {
        return Problem(.forbidden, "name-fixed", "This invitation is for the name \(name).", field: "username")
      }
    }
    if let name = address.local,
      let reserving = try writer.invite(reserving: name, in: realm, after: outlived(now)), reserving.id != invite?.id
    {
      return reserved(address)
    }
    return nil
  }

  private static func isLetIn(by invite: Invite, _ reader: any StoreReader) throws -> Bool {
    guard let inviter = invite.inviter else { return true }
    return try reader.user(inviter)?.state == .active
  }

  /// Makes the contact that an account made by this invitation has from its beginning; nil: it is nobody's. The account
  /// stands where it is refused.
  func meeting(_ invite: Invite, _ user: User, _ reader: any StoreReader) throws -> Post? {
    guard let inviter = invite.inviter, let host = try reader.party(inviter) else { return nil }
    let party = Party(id: user.id, realm: user.realm, address: user.address)
    let link = Intent.link(host.address, name: nil, groups: nil, mutual: true)
    return Post(
      author: party, intent: link,
      completion: .callback { [logger] result in
        guard case .failure(let problem) = result else { return }
        logger.warning(
          "an invited user did not become a contact",
          metadata: ["user": "\(user.address)", "reason": "\(problem.text)"])
      })
  }
}

/// The text of a token: it goes into links, so letters and digits only (XEP-0401 4.1.2).
enum InviteToken {
  /// 142 bits, where XEP-0379 4 asks for 80.
  private static let length = 24

  static func make() -> String {
    var generator = SystemRandomNumberGenerator()
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    return String(
      decoding: (0..<length).map { _ in alphabet.randomElement(using: &generator) ?? 0x41 }, as: UTF8.self)
  }
}

extension Parley {
  /// What is kept of a token.
  public static func hash(ofToken text: String) -> [UInt8] { Token.hash(text) }
}

extension Judge {
  /// A subscription request that shows an invitation's token (XEP-0379 3.4): both become contacts at once. With any other token
  /// it is a request like others, which the addressee's own client may know what to do with (3.5).
  mutating func redeem(
    _ post: Post, _ token: [UInt8], from address: BareJID, stanza: [UInt8]?, _ writer: any StoreWriter
  ) throws {
    guard let host = try host(of: token, at: address, for: post.author, writer) else {
      return try subscription(post, .subscribe, to: address, stanza: stanza, writer)
    }
    try writer.setUsed(host.invite)
    try link(post, address, name: nil, groups: nil, mutual: true, writer)
  }

  private mutating func host(
    of token: [UInt8], at address: BareJID, for guest: Party, _ writer: any StoreWriter
  ) throws -> (party: Party, invite: Int64)? {
    guard let invite = try writer.invite(token: token), invite.kind == .contact, !invite.isUsed, invite.expires > time,
      let host = try user(address, writer), host.state == .active, host.party.id == invite.inviter,
      host.party.id != guest.id, host.party.realm == guest.realm,
      try !isBlocked(guest, resource: nil, by: host.party, writer)
    else { return nil }
    return (host.party, invite.id)
  }
}
