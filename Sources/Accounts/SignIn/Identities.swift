import Addresses
import Basics
public import Dialogs

// Signing in by external identities. Theory:
//
// An issuer (the app's backend, a provider, a code sent to a telephone) proves an identity. If a user has the identity,
// that user logs in; otherwise a new user is created with it, in the same transaction, so that two concurrent logins
// result in one user. It never leads to another existing account: only its logged-in user or the operator can bind an
// identity to an existing account.

extension Accounts {
  /// The data for a new account of a user who signs in without one.
  public struct Newcomer: Sendable {
    /// The wished localpart; if it is `nil`, invalid, reserved or was ever taken, a random one is used.
    public var name: String?
    public var displayName: String?
    public init(name: String? = nil, displayName: String? = nil) {
      self.name = name
      self.displayName = displayName
    }
  }

  /// Logs in by an identity that has just been proved.
  ///
  /// - Parameters:
  ///   - newcomer: the new user's data; `nil` to admit only users with an account.
  ///   - update: run with the user in the login's transaction, to store the proof's data and use up its nonce. Throws
  ///     to refuse.
  /// - Throws: `.missing` `identity-unknown` if no user has it and none is created; the errors of `update`.
  public func logIn(
    by identity: Identity, in realm: RealmID, newcomer: Newcomer?, device: String?, client: String?,
    update: @escaping @Sendable (inout User, _ isNew: Bool, any StoreWriter) throws -> Void = { _, _, _ in }
  ) async throws(Problem) -> Login {
    guard let domain = parley.realmTable.realm(realm)?.domain else { throw Problem.unreachable }
    let now = parley.clock.now
    let user = try await parley.enrolling { [self] writer in
      if let id = try writer.user(of: identity, in: realm), var user = try writer.user(id) {
        try Self.checkActive(user)
        try update(&user, false, writer)
        try writer.update(user)
        return user
      }
      guard let newcomer else {
        throw Problem(.missing, "identity-unknown", "Nobody here is known by this identity.")
      }
      var user = try insert(newcomer, domain: domain, in: realm, now: now, writer)
      try writer.put(UserIdentity(identity, of: user.id, since: now), in: realm)
      try note(.userCreated, of: user.id, in: realm, writer)
      try update(&user, true, writer)
      try writer.update(user)
      return user
    }
    return try await logIn(user, device: device, client: client)
  }

  /// Creates a user without a password: their XMPP clients log in by token or app password.
  func insert(
    _ newcomer: Newcomer, domain: String, in realm: RealmID, now: Timestamp, _ writer: any StoreWriter
  ) throws -> User {
    let profile = Profile(displayName: newcomer.displayName)
    if let name = newcomer.name, Self.isPlain(name), let address = try? BareJID(local: name, domain: domain),
      try obstacle(to: address, nil, in: realm, now: now, writer) == nil
    {
      do { return try writer.insertUser(address, in: realm, profile: profile, createdAt: now) } catch is StoreConflict {
      }
    }
    let address = try BareJID(local: Self.madeUpName(), domain: domain)
    return try writer.insertUser(address, in: realm, profile: profile, createdAt: now)
  }

  /// Returns whether a name is the same in every protocol, without escaping (RFC 7622 3.3, XEP-0106).
  private static func isPlain(_ name: String) -> Bool {
    (1...AccountLimits.plainNameBytesMax).contains(name.utf8.count)
      && name.utf8.allSatisfy {
        (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || [0x2d, 0x2e, 0x5f].contains($0)
      }
  }

  /// Returns a new name: 100 random bits in 20 letters and digits.
  private static func madeUpName() -> String {
    let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567")
    return "u" + String((0..<20).map { _ in alphabet[Int.random(in: 0..<32)] })
  }

  /// Binds a proved identity to a user.
  ///
  /// - Throws: `.conflict` `identity-taken` if it is another user's.
  public func bind(_ identity: Identity, to user: Party) async throws(Problem) {
    let now = parley.clock.now
    try await parley.work(keepingCaches: true) { writer in
      try Self.bind(identity, to: user, now: now, writer)
    }
  }

  static func bind(_ identity: Identity, to user: Party, now: Timestamp, _ writer: any StoreWriter) throws {
    do { try writer.put(UserIdentity(identity, of: user.id, since: now), in: user.realm) } catch is StoreConflict {
      throw Problem.identityTaken
    }
  }
}

extension Problem {
  static let identityTaken = Problem(.conflict, "identity-taken", "Another user has this identity.")
}
