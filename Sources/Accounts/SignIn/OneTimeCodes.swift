import Addresses
import Basics
public import Dialogs

extension OneTimeCode {
  /// The purpose of a code. A code is invalid for another purpose.
  enum Purpose: String {
    /// Signing in, or proving an address.
    case address
    /// The second step of a login, and the removal of the second factor.
    case secondFactor
  }
}

extension Accounts {
  /// Sends a code to sign in with. It behaves the same whether or not a user has the address; a code is only sent if
  /// one has, or may be created.
  ///
  /// - Throws: `.unsupported` `delivery-off`, `.tooFast`.
  public func sendCode(to identity: Identity, in realm: RealmID, from network: String) async throws(Problem) {
    try await sendCode(to: identity, for: nil, in: realm, from: network)
  }

  /// Sends a code by which the user proves an address.
  public func sendCode(to identity: Identity, for user: Party, from network: String) async throws(Problem) {
    if parley.isGuest(user.id) { throw Problem.guestLimited }
    try await sendCode(to: identity, for: user, in: user.realm, from: network)
  }

  func sendCode(
    to identity: Identity, for owner: Party?, as purpose: OneTimeCode.Purpose = .address, in realm: RealmID,
    from network: String
  ) async throws(Problem) {
    if purpose == .secondFactor, let owner {
      try paceSecondFactor(of: owner.id, to: identity, from: network)
    } else {
      try await paceLetter(to: identity, as: .code, in: realm, from: network)
    }
    guard let domain = parley.realmTable.realm(realm)?.domain else { throw Problem.unreachable }
    let now = parley.clock.now
    let expires = now + AccountLimits.codeLifetime
    let sent: Sent = try await parley.work(keepingCaches: true) { writer in
      try writer.removeCodes(endedBy: now)
      // A code that is valid is sent again: whoever requests another does not take away the one that a user waits for.
      let earlier = try writer.code(for: identity, of: owner?.id, in: realm)
      let code = OneTimeCode(
        identity: identity, user: owner?.id, seed: earlier?.seed ?? [UInt8].random(count: 32), expires: expires,
        attemptsLeft: earlier?.attemptsLeft ?? AccountLimits.codeGuessesMax)
      try writer.put(code, in: realm)
      return Sent(code: code, known: try writer.user(try writer.user(of: identity, in: realm) ?? UserID(0)))
    }
    codeGuesses.requested(identity, of: owner?.id, in: realm, from: network, until: expires)
    let known = sent.known
    let isDue = owner != nil || known.map { $0.state == .active } ?? writesToStrangers(by: identity.issuer)
    if isDue {
      let text = Self.text(of: sent.code, purpose, options.accountSecret)
      send(
        OutgoingCode(to: identity, .code(text), domain: domain, user: owner?.name ?? known?.name, expires: expires))
    }
  }

  private struct Sent: Sendable {
    let code: OneTimeCode
    /// The user of the address; `nil` if there is none.
    let known: User?
  }

  /// Uses up a code, or one of the network's attempts.
  ///
  /// - Parameters:
  ///   - kind: the kind of the refusal; `nil` for `.unauthenticated`, or `.forbidden` for a logged-in user.
  ///   - obstacle: returns the reason why the right code is of no use now: it is thrown, and the code remains with one attempt
  ///     less.
  /// - Throws: `wrong-code`; `.tooFast` for a network that guesses.
  func redeem(
    code text: String, for identity: Identity, of owner: UserID?, as purpose: OneTimeCode.Purpose = .address,
    in realm: RealmID, refusing kind: Problem.Kind? = nil, from network: String,
    unless obstacle: @escaping @Sendable (any StoreReader) throws -> Problem? = { _ in nil }
  ) async throws(Problem) {
    let (secret, now) = (options.accountSecret, parley.clock.now)
    let isKnown = try await isKnown(network, to: identity, in: realm)
    // Guesses at codes that nobody has requested are not counted: they would displace the counts of others.
    let isRequested = try await parley.read { try $0.code(for: identity, of: owner, in: realm) != nil }
    let mayTry =
      isRequested
      && codeGuesses.take(identity, of: owner, in: realm, from: network, isKnown: isKnown, now: now)
    let result: Result<Bool, Problem> = try await parley.work(keepingCaches: true) { writer in
      guard mayTry, var code = try writer.code(for: identity, of: owner, in: realm) else { return .success(false) }
      let right = Array(Self.text(of: code, purpose, secret).utf8)
      let isRight = right.isEqualInConstantTime(to: Array(text.utf8)) && code.expires > now
      code.attemptsLeft -= 1
      let problem = try isRight ? obstacle(writer) : nil
      if isRight && problem == nil || code.attemptsLeft <= 0 {
        try writer.removeCode(for: identity, of: owner, in: realm)
      } else {
        try writer.put(code, in: realm)
      }
      if let problem { return .failure(problem) }
      return .success(isRight)
    }
    guard try result.get() else {
      throw wrongToken(
        Problem(
          kind ?? (owner == nil ? .unauthenticated : .forbidden), "wrong-code",
          "The code is wrong, too old, or was used; after a few tries ask for another.", field: "code"), from: network)
    }
  }

  /// Logs in by a code. An unknown user gets an account if `newcomers` contains the issuer.
  public func logIn(
    by identity: Identity, code: String, in realm: RealmID, displayName: String?, from network: String,
    device: String?, client: String?
  ) async throws(Problem) -> Login {
    try await redeem(code: code, for: identity, of: nil, in: realm, from: network)
    let newcomer = newcomers.contains(identity.issuer) ? Newcomer(displayName: displayName) : nil
    do throws(Problem) {
      let login = try await logIn(by: identity, in: realm, newcomer: newcomer, device: device, client: client) {
        user, isNew, writer in
        if isNew { try Invites.noteRegistered(user.id, writer) }
      }
      rightToken(LoginAttempt(of: login.user.address, from: network, device: nil))
      return login
    } catch  where error.code == "identity-unknown" {
      throw Problem(.forbidden, "registration-off", "Nobody here has this address, and no account is made by it.")
    }
  }

  /// Binds an address proved by a code to the user, replacing another of its kind.
  ///
  /// - Parameter password: the account's, required if it has one: with a new address the password could be reset.
  /// - Throws: also `.conflict` `identity-taken`.
  public func bind(
    _ identity: Identity, code: String, password: String?, to user: Party, from network: String
  ) async throws(Problem) {
    _ = try await proveOwn(password, of: user, from: network, field: "password")
    try await redeem(code: code, for: identity, of: user.id, in: user.realm, from: network)
    let now = parley.clock.now
    try await parley.work(keepingCaches: true) { writer in
      try Self.checkNotSent(to: identity.issuer, of: user.id, writer)
      try Self.replace(identity, of: user, now: now, writer)
    }
  }

  static func replace(_ identity: Identity, of user: Party, now: Timestamp, _ writer: any StoreWriter) throws {
    try bind(identity, to: user, now: now, writer)
    for other in try writer.identities(of: user.id)
    where other.identity.issuer == identity.issuer && other.identity != identity {
      try writer.remove(other.identity, of: user.id)
    }
  }

  /// Binds an address for an operator, without proof; one that is another user's remains theirs.
  public func bindUnproved(_ identity: Identity, to user: Party) async throws(Problem) {
    let now = parley.clock.now
    try await parley.work(keepingCaches: true) { writer in try Self.replace(identity, of: user, now: now, writer) }
  }

  /// Returns the six digits of a code.
  private static func text(of code: OneTimeCode, _ purpose: OneTimeCode.Purpose, _ secret: TokenSecret) -> String {
    let kind = code.identity.issuer == .email ? "email" : "phone"
    let parts = [kind, code.identity.subject, "\(code.user?.number ?? 0)", Hex.string(code.seed)]
    let hash = secret.hash(purpose == .address ? parts : [purpose.rawValue] + parts, .code)
    let text = String(hash.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } % 1_000_000)
    return String(repeating: "0", count: 6 - text.count) + text
  }
}
