import Addresses
import Basics
public import Dialogs

// Signing in by what others vouch for. Theory:
//
// Whoever vouches (the app's backend, a provider, a code sent to a telephone) proves an identity. An identity is looked up, and
// its user logs in; nobody has it yet, and a new user is made with it, in the same transaction, so that two who come at once are
// one user. A new user is never an old one: an identity is bound to an account that exists only by somebody who is logged in to it
// or by the operator.

extension Accounts {
  /// Whoever signs in without an account gets one by this.
  public struct Newcomer: Sendable {
    /// The localpart they would have, where it is a name that can be had; nil, and where it is or was taken: one is made up.
    public var name: String?
    public var displayName: String?
    public init(name: String? = nil, displayName: String? = nil) {
      self.name = name
      self.displayName = displayName
    }
  }

  /// A login by an identity that has just been proved.
  ///
  /// - Parameters:
  ///   - newcomer: nil: only those who have an account are let in.
  ///   - update: run with the user in the login's transaction: what the proof says of them, what it uses up. Throws to refuse.
  /// - Throws: `.missing` `identity-unknown` where nobody has it and none is made; what `update` throws.
  public func logIn(
    by identity: Identity, in realm: RealmID, newcomer: Newcomer?, device: String?, client: String?,
    update: @escaping @Sendable (inout User, _ isNew: Bool, any StoreWriter) throws -> Void = { _, _, _ in }
  ) async throws(Problem) -> Login {
    guard let domain = parley.realmTable.realm(realm)?.domain else { throw Problem.unreachable }
    let now = parley.clock.now
    let user: User = try await parley.work { [self] writer in
      if let id = try writer.user(of: identity, in: realm), var user = try writer.user(id) {
        try Self.checkActive(user)
        try update(&user, false, writer)
        try writer.update(user)
        return user
      }
      guard let newcomer else {
        throw Problem(.missing, "identity-unknown", "Nobody here is known by this identity.")
      }
      var user = try Self.insert(newcomer, domain: domain, in: realm, now: now, writer)
      try writer.put(UserIdentity(identity, of: user.id, since: now), in: realm)
      try note(.userCreated, of: user.id, in: realm, writer)
      try update(&user, true, writer)
      try writer.update(user)
      return user
    }
    return try await logIn(user, device: device, client: client)
  }

  /// A user without a password: XMPP clients of theirs log in by token or app password.
  static func insert(
    _ newcomer: Newcomer, domain: String, in realm: RealmID, now: Timestamp, _ writer: any StoreWriter
  ) throws -> User {
    let profile = Profile(displayName: newcomer.displayName)
    if let name = newcomer.name, isPlain(name), let address = try? BareJID(local: name, domain: domain),
      try obstacle(to: address, nil, in: realm, now: now, writer) == nil
    {
      do { return try writer.insertUser(address, in: realm, profile: profile, createdAt: now) } catch is StoreConflict {
      }
    }
    let address = try BareJID(local: madeUpName(), domain: domain)
    return try writer.insertUser(address, in: realm, profile: profile, createdAt: now)
  }

  /// A name that is the same in every protocol, without escaping (RFC 7622 3.3, XEP-0106).
  private static func isPlain(_ name: String) -> Bool {
    (1...Limits.plainNameBytesMax).contains(name.utf8.count)
      && name.utf8.allSatisfy {
        (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || [0x2d, 0x2e, 0x5f].contains($0)
      }
  }

  /// 100 random bits in 20 letters and digits: nobody had it.
  private static func madeUpName() -> String {
    let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567")
    return "u" + String((0..<20).map { _ in alphabet[Int.random(in: 0..<32)] })
  }

  /// Binds an identity that has been proved to a user.
  ///
  /// - Throws: `.conflict` `identity-taken` where it is another user's.
  public func bind(_ identity: Identity, to user: Party) async throws(Problem) {
    let now = parley.clock.now
    try await parley.work(keepingCaches: true) { writer in
      try Self.bind(identity, to: user, now: now, writer)
    }
  }

  static func bind(_ identity: Identity, to user: Party, now: Timestamp, _ writer: any StoreWriter) throws {
    do { try writer.put(UserIdentity(identity, of: user.id, since: now), in: user.realm) } catch is StoreConflict {
      throw Problem(.conflict, "identity-taken", "Another user has this identity.")
    }
  }
}
