package import Addresses
package import Basics

/// The invitations to a realm.
public struct Invites: Sendable {
  private let parley: Parley

  public init(_ parley: Parley) { self.parley = parley }

  /// An invitation with its token, which is returned once and not stored.
  public struct New: Sendable {
    public let open: Open
    public let token: String
    public var invite: Invite { open.invite }
    /// The URI for the guest's XMPP client.
    public var uri: String { open.uri(token: token) }
  }

  /// An invitation as the holder of its token sees it.
  public struct Open: Sendable {
    public enum State: Sendable { case open, used, expired }
    public let invite: Invite
    public let state: State
    public let realm: Realm
    /// The inviter; `nil` for an operator.
    public let inviter: User?
    /// Whether an account may be created with it.
    public let makesAccount: Bool
  }

  /// Creates an invitation.
  ///
  /// - Parameter asker: the user; `nil` for an operator. Users invite their own contacts only, admins also as operators
  ///   do.
  /// - Throws: `.forbidden`; `.conflict` if the name is taken or reserved; `.tooFast` at `Limits.invitesPerUserMax`, and for
  ///   `Limits.invitesWait` after a registration; `.missing` if it was taken back at once.
  public func make(_ draft: InviteDraft, by asker: Party?) async throws(Problem) -> New {
    if let asker {
      let isOwn =
        !parley.isGuest(asker.id) && draft.kind == .contact && draft.inviter == asker && draft.name == nil
        && draft.realm == asker.realm
      guard parley.registries.administrators.contains(asker) || parley.options.allowsInvitations && isOwn else {
        throw Problem(.forbidden, "invitations-off", "This server's operators invite.")
      }
    }
    guard let realm = parley.realms.first(where: { $0.id == draft.realm }) else { throw Problem.unreachable }
    let address = draft.name.flatMap { try? BareJID(local: $0, domain: realm.domain) }
    if let name = draft.name, address == nil {
      throw Problem(.malformed, "username-malformed", "\(name) cannot be the name of a user.", field: "username")
    }
    let token = InviteToken.make()
    let now = parley.clock.now
    let invite = Invite(
      realm: realm.id, kind: draft.kind, token: Token.hash(token), inviter: draft.inviter?.id, name: address?.local,
      createdAt: now, expires: now + Limits.inviteLifetime)
    let newcomer = asker.flatMap { parley.registries.administrators.contains($0) ? nil : $0.id }
    let result: Result<Invite, Problem> = try await parley.work(keepingCaches: true) { writer in
      if let newcomer, let wait = try Self.wait(of: newcomer, now: now, writer) {
        return .failure(Problem.invitesTooNew(wait))
      }
      try writer.removeInvites(before: Self.outlived(now))
      let most = invite.inviter == nil ? Limits.invitesOfOperatorsMax : Limits.invitesPerUserMax
      guard try writer.inviteCount(by: invite.inviter, in: realm.id) < most else {
        return .failure(
          Problem(
            .tooFast, "too-many-invitations", "There are \(most) invitations of the last days. Wait until some end."))
      }
      if let address, let name = address.local {
        if try writer.user(address) != nil {
          return .failure(.nameTaken(address))
        }
        if let refusal = parley.registries.administrators.refusal(of: address) { return .failure(refusal) }
        if try writer.invite(reserving: name, in: realm.id, after: Self.outlived(now)) != nil {
          return .failure(Self.reserved(address))
        }
      }
      return .success(try writer.put(invite))
    }
    _ = try result.get()
    guard let open = try await find(token: token) else {
      throw Problem(.missing, "invitation-unknown", "The invitation was taken back.")
    }
    return New(open: open, token: token)
  }

  /// Returns the invitation of a token; `nil` if there is none, or its inviter's account is not active.
  public func find(token: String) async throws(Problem) -> Open? {
    let hash = Token.hash(token)
    let now = parley.clock.now
    let found: (Invite, User?)? = try await parley.read { reader in
      guard let invite = try reader.invite(token: hash) else { return nil }
      return (invite, try invite.inviter.flatMap { try reader.user($0) })
    }
    guard let (invite, inviter) = found, let realm = parley.realms.first(where: { $0.id == invite.realm }) else {
      return nil
    }
    // A deleted or disabled user invites no one.
    if invite.inviter != nil, inviter?.state != .active { return nil }
    let state: Open.State = invite.isUsed ? .used : invite.expires <= now ? .expired : .open
    let makesAccount =
      switch invite.kind {
      case .account: true
      case .contact:
        parley.options.allowsInvitations || inviter.map { parley.registries.administrators.contains($0.party) } ?? true
      }
    return Open(invite: invite, state: state, realm: realm, inviter: inviter, makesAccount: makesAccount)
  }

  /// Returns the open invitations of a realm, the oldest first.
  public func all(in realm: RealmID) async throws(Problem) -> [Invite] {
    let now = parley.clock.now
    return try await parley.read { try $0.invites(in: realm, limit: Limits.invitesListed) }
      .filter { !$0.isUsed && $0.expires > now }
  }

  /// Revokes an invitation: its token becomes invalid, and the name it reserved is free.
  ///
  /// - Throws: `.missing`.
  public func revoke(_ id: Int64) async throws(Problem) {
    guard try await parley.work(keepingCaches: true, { try $0.removeInvite(id) }) else {
      throw Problem(.missing, "invitation-unknown", "There is no invitation \(id).")
    }
  }

  /// Returns the stored hash of a token.
  public static func hash(ofToken text: String) -> [UInt8] { Token.hash(text) }

  // MARK: Creating accounts

  /// Notes that a user has registered, alone or invited by another user: they invite nobody for `Limits.invitesWait`.
  package static func noteRegistered(_ user: UserID, _ writer: any StoreWriter) throws {
    try writer.setValue(of: user, node: ValueKey.registered, item: ValueKey.bytes, [1])
  }

  /// Returns the seconds until a user may invite others; `nil` if they may.
  private static func wait(of user: UserID, now: Timestamp, _ reader: any StoreReader) throws -> Int? {
    guard try reader.value(of: user, node: ValueKey.registered, item: ValueKey.bytes) != nil,
      let created = try reader.user(user)?.createdAt
    else { return nil }
    let left = (created + Limits.invitesWait).milliseconds - now.milliseconds
    return left > 0 ? Int((left + 999) / 1_000) : nil
  }

  /// Returns the time before which expired invitations are removed: a guest admitted before the end may still finish
  /// (XEP-0445 3.2).
  package static func outlived(_ now: Timestamp) -> Timestamp { now + (.zero - Limits.inviteGrace) }

  package static func reserved(_ address: BareJID) -> Problem {
    Problem(.conflict, "name-taken", "The name \(address) is reserved for somebody who is invited.", field: "username")
  }
}

/// The text of a token: letters and digits only, as it is part of links (XEP-0401 4.1.2).
enum InviteToken {
  /// 142 bits, where XEP-0379 4 requires 80.
  private static let length = 24

  static func make() -> String {
    var generator = SystemRandomNumberGenerator()
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    return String(
      decoding: (0..<length).map { _ in alphabet.randomElement(using: &generator) ?? 0x41 }, as: UTF8.self)
  }
}

extension Judge {
  /// Processes a subscription request with an invitation's token (XEP-0379 3.4): both users become contacts at once.
  /// With any other token it is an ordinary request, which the addressee's own client may recognise (3.5).
  mutating func redeem(
    _ post: Post, _ token: [UInt8], from address: BareJID, stanza: [UInt8]?
  ) throws {
    guard let host = try host(of: token, at: address, for: post.author) else {
      return try subscription(post, .subscribe, to: address, stanza: stanza)
    }
    try link(post, address, name: nil, groups: nil, mutual: true)
    try writer.setUsed(host.invite)
  }

  private mutating func host(
    of token: [UInt8], at address: BareJID, for guest: Party
  ) throws -> (party: Party, invite: Int64)? {
    guard let invite = try writer.invite(token: token), invite.kind == .contact, !invite.isUsed, invite.expires > time,
      let host = try user(address, seenFrom: guest.realm), host.state == .active, host.party.id == invite.inviter,
      host.party.id != guest.id, host.party.realm == guest.realm,
      try !isBlocked(guest, resource: nil, by: host.party)
    else { return nil }
    return (host.party, invite.id)
  }
}

extension Problem {
  static func invitesTooNew(_ seconds: Int) -> Problem {
    Problem(
      .tooFast, "invitations-too-new",
      "This account is new, and can invite others in \((seconds + 3_599) / 3_600) hours.", retryAfter: seconds)
  }
}
