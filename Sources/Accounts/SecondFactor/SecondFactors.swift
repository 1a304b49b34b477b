import Addresses
public import Basics
public import Dialogs

// The places where the second factor is required, the same for both doors:
//
//   an app's login     `logIn(_:proved:second:device:client:)`, which completes every way to sign in
//   an XMPP login      `allCredentials`: the keys of the account's own password fit nothing while a second factor is
//                      on, since SASL has no step for it; app passwords, tokens of clients and of logins are not
//                      affected
//   XMPP, afterwards   `Access.stands`: an access by the password alone does not stand
extension Accounts {
  /// The data that is shown once, when a second factor is created.
  public enum Enrolment: Sendable {
    /// `secret` is base 32, for typing; `uri` is for a QR code.
    case totp(secret: String, uri: String)
    /// A code was sent.
    case sms(expires: Timestamp)
  }

  /// A proof of a second factor.
  public enum SecondProof: Hashable, Sendable {
    /// A code of the authenticator app, or one that was sent.
    case code(String)
    case recoveryCode(String)
  }

  /// Creates a second factor, which is on after its confirmation; an unconfirmed one is replaced. For the method `sms`
  /// a code is sent.
  ///
  /// - Parameter password: the account's password, required if it has one, so that a stolen access token cannot lock
  ///   the user out.
  /// - Throws: `.conflict` `second-factor-on`, `phone-missing`; the errors of `sendCode`.
  public func enrol(
    _ caller: Caller, by method: SecondFactor.Method = .totp, password: String?, from network: String
  ) async throws(Problem) -> Enrolment {
    let user = caller.user
    if parley.isGuest(user.id) { throw Problem.guestLimited }
    try pace(.passwordChange(user.id))
    _ = try await proveOwn(password, of: user, from: network, field: "password")
    let totp = TOTP.random()
    let (secret, now) = (options.accountSecret, parley.clock.now)
    let phone: Identity? = try await parley.work(keepingCaches: true) { writer in
      if try writer.secondFactor(of: user.id)?.isOn == true { throw Problem.secondFactorOn }
      let phone = try Self.phone(of: user.id, writer)
      if method == .sms, phone == nil { throw Problem.phoneMissing }
      try writer.put(
        SecondFactor(
          user: user.id,
          sealedSecret: method == .sms
            ? [] : try secret.seal(totp.secret, .secondFactor, context: "\(user.id.number)"),
          isOn: false, lastStep: 0, createdAt: now))
      return phone
    }
    if method == .sms, let phone {
      try await sendCode(to: phone, for: user, as: .secondFactor, in: user.realm, from: network)
      return .sms(expires: now + AccountLimits.codeLifetime)
    }
    return .totp(secret: totp.base32, uri: totp.uri(account: user.address.description, issuer: user.address.domain))
  }

  /// Turns the second factor on. XMPP sessions opened with the password alone end.
  ///
  /// - Returns: recovery codes, this once.
  public func confirm(_ caller: Caller, code: String, from network: String) async throws(Problem) -> [String] {
    let user = caller.user
    let attempt = PacedAct.secondFactor(user.id)
    try pace(attempt)
    let isRedeemed = try await redeemSent(.code(code), of: user, refusing: .forbidden, from: network)
    let codes = (0..<AccountLimits.recoveryCodes).map { _ in Self.makeRecoveryCode() }
    let (secret, now) = (options.accountSecret, parley.clock.now)
    let hashes = codes.map { Self.hash(ofRecoveryCode: $0, of: user.id, secret) }
    try await parley.work(keepingCaches: true) { writer in
      guard let factor = try writer.secondFactor(of: user.id), !factor.isOn else {
        throw Problem(.conflict, "second-factor-missing", "There is no second factor that waits to be confirmed.")
      }
      try Self.use(.code(code), isRedeemed: isRedeemed, factor, secret, now, writer, turningOn: true)
      try writer.setRecoveryCodes(hashes, of: user.id)
      try writer.removeClients(of: user.id, from: .password)
    }
    giveBack(attempt)
    parley.hub.close(user.id, .revoked) { $0.access?.source == .password }
    return codes
  }

  /// Removes the second factor.
  public func removeSecondFactor(
    _ caller: Caller, _ proof: SecondProof, from network: String
  ) async throws(Problem) {
    let user = caller.user.id
    let attempt = PacedAct.secondFactor(user)
    try pace(attempt)
    let isRedeemed = try await redeemSent(proof, of: caller.user, refusing: .forbidden, from: network)
    let (secret, now) = (options.accountSecret, parley.clock.now)
    try await parley.work(keepingCaches: true) { writer in
      guard let factor = try writer.secondFactor(of: user), factor.isOn else {
        throw Problem(.missing, "second-factor-missing", "There is no second factor.")
      }
      try Self.use(proof, isRedeemed: isRedeemed, factor, secret, now, writer)
      try writer.removeSecondFactor(of: user)
    }
    giveBack(attempt)
  }

  /// Removes the second factor by an operator. Returns whether there was one.
  public func removeSecondFactor(of user: UserID) async throws(Problem) -> Bool {
    try await parley.work(keepingCaches: true) { writer in
      guard try writer.secondFactor(of: user) != nil else { return false }
      try writer.removeSecondFactor(of: user)
      return true
    }
  }

  /// Completes a login that waits for its second factor.
  ///
  /// - Throws: `.unauthenticated` `challenge-invalid`, `wrong-code`; `.tooFast`.
  public func logIn(
    challenge text: String, _ proof: SecondProof, from network: String, device: String?, client: String?
  ) async throws(Problem) -> Login {
    let (challenge, user) = try await open(challenge: text, from: network)
    let attempt = PacedAct.secondFactor(user.id)
    try pace(attempt)
    let isRedeemed = try await redeemSent(proof, of: Self.party(user), refusing: .unauthenticated, from: network)
    let second = SecondStep(challenge: challenge, proof: proof, isRedeemed: isRedeemed)
    let login = try await logIn(user, second: second, device: device, client: client)
    giveBack(attempt)
    return login
  }

  private func open(
    challenge text: String, from network: String
  ) async throws(Problem) -> (challenge: Challenge, user: User) {
    guard let challenge = Challenge(text, options.accountSecret, now: parley.clock.now),
      let user = try await parley.read({ try $0.user(challenge.user) })
    else { throw wrongToken(.challengeInvalid, from: network) }
    return (challenge, user)
  }

  // MARK: Sent codes

  /// Sends a code to a user who has proved the first factor.
  ///
  /// - Throws: `.unauthenticated` `challenge-invalid`; `.conflict` `second-factor-not-sent`; the errors of `sendCode`.
  public func sendSecondFactorCode(challenge text: String, from network: String) async throws(Problem) {
    let (challenge, user) = try await open(challenge: text, from: network)
    try await sendSecondFactorCode(to: Self.party(user), fingerprint: challenge.fingerprint, from: network)
  }

  /// Sends a code to a logged-in user who removes the second factor.
  ///
  /// - Throws: also `.missing` `second-factor-missing`.
  public func sendSecondFactorCode(to caller: Caller, from network: String) async throws(Problem) {
    try await sendSecondFactorCode(to: caller.user, fingerprint: nil, from: network)
  }

  private func sendSecondFactorCode(
    to user: Party, fingerprint: [UInt8]?, from network: String
  ) async throws(Problem) {
    let (factor, phone, isCurrent) = try await parley.read { reader in
      let present = try fingerprint.map { try $0 == Challenge.fingerprint(of: reader.credentials(of: user.id)) }
      return (try reader.secondFactor(of: user.id), try Self.phone(of: user.id, reader), present ?? true)
    }
    guard isCurrent else { throw Problem.challengeInvalid }
    guard let factor, factor.isOn else {
      throw Problem(.missing, "second-factor-missing", "There is no second factor.")
    }
    guard factor.method == .sms else {
      throw Problem(.conflict, "second-factor-not-sent", "An authenticator program makes the codes; none is sent.")
    }
    guard let phone else { throw Problem.phoneMissing }
    try await sendCode(to: phone, for: user, as: .secondFactor, in: user.realm, from: network)
  }

  /// Uses up a sent code, in a transaction of its own: a wrong one counts, although its purpose is refused.
  ///
  /// - Returns: `false` for another kind of proof, which is checked when it is used.
  private func redeemSent(
    _ proof: SecondProof, of user: Party, refusing kind: Problem.Kind, from network: String
  ) async throws(Problem) -> Bool {
    guard case .code(let code) = proof else { return false }
    let phone: Identity? = try await parley.read { reader in
      guard try reader.secondFactor(of: user.id)?.method == .sms else { return nil }
      return try Self.phone(of: user.id, reader)
    }
    guard let phone else { return false }
    try await redeem(
      code: code, for: phone, of: user.id, as: .secondFactor, in: user.realm, refusing: kind, from: network)
    return true
  }

  private static func party(_ user: User) -> Party { Party(id: user.id, realm: user.realm, address: user.address) }

  private static func phone(of user: UserID, _ reader: any StoreReader) throws -> Identity? {
    try reader.identities(of: user).first { $0.identity.issuer == .phone }?.identity
  }

  /// Checks that codes are not sent to this number, in the transaction that removes or replaces it: otherwise the user
  /// would be locked out.
  static func checkNotSent(to issuer: Identity.Issuer, of user: UserID, _ reader: any StoreReader) throws {
    guard issuer == .phone, let factor = try reader.secondFactor(of: user), factor.isOn, factor.method == .sms else {
      return
    }
    throw Problem(
      .conflict, "second-factor-on", "Codes of the second factor are sent to this number; take that away first.")
  }

  // MARK: Requiring it

  /// Checks the second factor in a login's transaction; does nothing if none is on.
  ///
  /// - Throws: `secondFactorRequired`, with a challenge, without a proof; the error of a wrong proof.
  static func checkSecondFactor(
    of user: UserID, _ given: SecondStep?, _ secret: TokenSecret, _ now: Timestamp,
    _ writer: any StoreWriter
  ) throws {
    let fingerprint = Challenge.fingerprint(of: try writer.credentials(of: user))
    if let given, given.challenge.fingerprint != fingerprint { throw Problem.challengeInvalid }
    guard let factor = try writer.secondFactor(of: user), factor.isOn else { return }
    guard let given else {
      let challenge = Challenge(user: user, expires: now + AccountLimits.challengeLifetime, fingerprint: fingerprint)
      throw Problem.secondFactorRequired(factor.method, challenge: try challenge.text(secret))
    }
    try use(given.proof, isRedeemed: given.isRedeemed, factor, secret, now, writer, loggedIn: false)
  }

  /// Checks a proof, and uses it up.
  ///
  /// - Parameter isRedeemed: whether it is a sent code that was used up before.
  private static func use(
    _ proof: SecondProof, isRedeemed: Bool, _ factor: SecondFactor, _ secret: TokenSecret, _ now: Timestamp,
    _ writer: any StoreWriter, loggedIn: Bool = true, turningOn: Bool = false
  ) throws {
    let wrong = Problem(
      loggedIn ? .forbidden : .unauthenticated, "wrong-code", "The code is wrong, too old, or was used before.",
      field: "code")
    switch proof {
    case .code where factor.method == .sms:
      guard isRedeemed else { throw wrong }
      var factor = factor
      factor.isOn = factor.isOn || turningOn
      try writer.put(factor)
    case .code(let code):
      // Without the data folder's key no authenticator app fits any more, nor do recovery codes. Operators turn the
      // factor off.
      guard let bytes = secret.open(factor.sealedSecret, .secondFactor, context: "\(factor.user.number)"),
        let step = TOTP(secret: bytes).step(of: code, at: now, after: factor.lastStep)
      else { throw wrong }
      var factor = factor
      factor.lastStep = step
      factor.isOn = factor.isOn || turningOn
      try writer.put(factor)
    case .recoveryCode(let text):
      let hash = hash(ofRecoveryCode: text, of: factor.user, secret)
      // All are compared, each in constant time.
      var found = false
      for other in try writer.recoveryCodes(of: factor.user) where other.isEqualInConstantTime(to: hash) {
        found = true
      }
      guard found else { throw wrong }
      try writer.removeRecoveryCode(hash, of: factor.user)
    }
  }

  /// Returns a code of 50 random bits, such as `abcde-fghij`.
  private static func makeRecoveryCode() -> String {
    var generator = SystemRandomNumberGenerator()
    let alphabet = Array("abcdefghijkmnpqrstuvwxyz23456789")
    func part() -> String { String((0..<5).map { _ in alphabet[Int.random(in: 0..<32, using: &generator)] }) }
    return part() + "-" + part()
  }

  /// Returns the hash of a recovery code, ignoring case, spaces and hyphens.
  private static func hash(ofRecoveryCode text: String, of user: UserID, _ secret: TokenSecret) -> [UInt8] {
    let plain = text.lowercased().filter { $0.isASCII && ($0.isLetter || $0.isNumber) }
    return secret.hash(["\(user.number)", plain], .recoveryCode)
  }
}

/// The second step of a login.
struct SecondStep: Sendable {
  let challenge: Challenge
  let proof: Accounts.SecondProof
  /// Whether `proof` is a sent code that is used up.
  let isRedeemed: Bool
}

extension Problem {
  static func secondFactorRequired(_ method: SecondFactor.Method, challenge: String) -> Problem {
    Problem(
      .unauthenticated, "second-factor-required", "Send a code of the second factor with this challenge.",
      challenge: challenge, secondFactor: method.rawValue)
  }

  static let challengeInvalid = Problem(
    .unauthenticated, "challenge-invalid", "The challenge is not valid any more; begin anew.")
  static let secondFactorOn = Problem(
    .conflict, "second-factor-on", "There is a second factor; take it away first.")
  static let phoneMissing = Problem(
    .conflict, "phone-missing", "Prove a telephone number first: codes are sent there.")
}
