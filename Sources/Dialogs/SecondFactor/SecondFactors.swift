import Addresses

// Where the second factor is asked for, so that both doors agree:
//
//   an app's login     `logIn(_:proved:second:device:client:)`, which every way to sign in ends at
//   an XMPP login      `allCredentials`: the keys of the account's own password fit nothing while a second factor is on, since
//                      SASL has no place to ask for it; app passwords, tokens of clients and of logins stay as they are
//   XMPP, afterwards   `Access.stands`: what the password alone let in does not stand
extension Parley {
  /// What is shown once, when a second factor is made.
  public struct Enrolment: Sendable {
    /// Base 32, for typing.
    public let secret: String
    /// For a QR code.
    public let uri: String
  }

  /// Proof of a second factor.
  public enum SecondProof: Hashable, Sendable {
    /// Of the telephone.
    case code(String)
    case recoveryCode(String)
  }

  /// Makes a second factor. It counts from its confirmation on; one that was not confirmed is replaced.
  ///
  /// - Parameter password: the account's; needed where it has one, so that a stolen access token locks nobody out.
  public func enrol(_ caller: Caller, password: String?, from network: String) async throws(Problem) -> Enrolment {
    let user = caller.user
    if isGuest(user.id) { throw Problem.guestLimited }
    try pace(.passwordChange(user.id))
    _ = try await proveOwn(password, of: user, from: network, field: "password")
    let totp = TOTP.random()
    let (secret, now) = (accountSecret, clock.now)
    try await work(leavingCaches: true) { writer in
      if try writer.secondFactor(of: user.id)?.isOn == true {
        throw Problem(.conflict, "second-factor-on", "There is a second factor; take it away first.")
      }
      try writer.put(
        SecondFactor(
          user: user.id, sealedSecret: try secret.seal(totp.secret, .secondFactor, context: "\(user.id.number)"),
          isOn: false, lastStep: 0, createdAt: now))
    }
    return Enrolment(
      secret: totp.base32, uri: totp.uri(account: user.address.description, issuer: user.address.domain))
  }

  /// Turns the second factor on. What the password alone had let in over XMPP ends.
  ///
  /// - Returns: recovery codes; told this once.
  public func confirm(_ caller: Caller, code: String) async throws(Problem) -> [String] {
    let user = caller.user
    let attempt = PacedAct.secondFactor(user.id)
    try pace(attempt)
    let codes = (0..<Limits.recoveryCodes).map { _ in Self.makeRecoveryCode() }
    let (secret, now) = (accountSecret, clock.now)
    let hashes = codes.map { Self.hash(ofRecoveryCode: $0, of: user.id, secret) }
    try await work(leavingCaches: true) { writer in
      guard let factor = try writer.secondFactor(of: user.id), !factor.isOn else {
        throw Problem(.conflict, "second-factor-missing", "There is no second factor that waits to be confirmed.")
      }
      try Self.use(.code(code), factor, secret, now, writer, turningOn: true)
      try writer.setRecoveryCodes(hashes, of: user.id)
      try writer.removeClients(of: user.id, from: .password)
    }
    giveBack(attempt)
    hub.close(user.id, .revoked) { $0.access?.source == .password }
    return codes
  }

  /// Takes the second factor away.
  public func removeSecondFactor(_ caller: Caller, _ proof: SecondProof) async throws(Problem) {
    let user = caller.user.id
    let attempt = PacedAct.secondFactor(user)
    try pace(attempt)
    let (secret, now) = (accountSecret, clock.now)
    try await work(leavingCaches: true) { writer in
      guard let factor = try writer.secondFactor(of: user), factor.isOn else {
        throw Problem(.missing, "second-factor-missing", "There is no second factor.")
      }
      try Self.use(proof, factor, secret, now, writer)
      try writer.removeSecondFactor(of: user)
    }
    giveBack(attempt)
  }

  /// The same by an operator. Returns whether there was one.
  public func removeSecondFactor(of user: UserID) async throws(Problem) -> Bool {
    try await work(leavingCaches: true) { writer in
      guard try writer.secondFactor(of: user) != nil else { return false }
      try writer.removeSecondFactor(of: user)
      return true
    }
  }

  /// Ends a login that waits for its second factor.
  ///
  /// - Throws: `.unauthenticated` `challenge-invalid`, `wrong-code`; `.tooFast`.
  public func logIn(
    challenge text: String, _ proof: SecondProof, from network: String, device: String?, client: String?
  ) async throws(Problem) -> Login {
    guard let challenge = Challenge(text, accountSecret, now: clock.now),
      let user = try await read({ try $0.user(challenge.user) })
    else {
      throw wrongToken(
        Problem(.unauthenticated, "challenge-invalid", "The challenge is not valid any more; begin anew."),
        from: network
      )
    }
    let attempt = PacedAct.secondFactor(user.id)
    try pace(attempt)
    let login = try await logIn(user, second: (challenge, proof), device: device, client: client)
    giveBack(attempt)
    return login
  }

  /// In a login's transaction: nothing where no second factor is on.
  ///
  /// - Throws: `secondFactorRequired`, with a challenge, where none was proved; what is wrong with the proof.
  static func checkSecondFactor(
    of user: UserID, _ given: (challenge: Challenge, proof: SecondProof)?, _ secret: TokenSecret, _ now: Timestamp,
    _ writer: any StoreWriter
  ) throws {
    let fingerprint = Challenge.fingerprint(of: try writer.credentials(of: user))
    if let given, given.challenge.fingerprint != fingerprint {
      throw Problem(.unauthenticated, "challenge-invalid", "The challenge is not valid any more; begin anew.")
    }
    guard let factor = try writer.secondFactor(of: user), factor.isOn else { return }
    guard let given else {
      let challenge = Challenge(user: user, expires: now + Limits.challengeLifetime, fingerprint: fingerprint)
      throw Problem.secondFactorRequired(challenge: try challenge.text(secret))
    }
    try use(given.proof, factor, secret, now, writer, loggedIn: false)
  }

  /// Checks a proof, and uses it up.
  private static func use(
    _ proof: SecondProof, _ factor: SecondFactor, _ secret: TokenSecret, _ now: Timestamp, _ writer: any StoreWriter,
    loggedIn: Bool = true, turningOn: Bool = false
  ) throws {
    let wrong = Problem(
      loggedIn ? .forbidden : .unauthenticated, "wrong-code", "The code is wrong, too old, or was used before.",
      field: "code")
    switch proof {
    case .code(let code):
      // A data folder without its key: nobody's telephone fits any more, recovery codes neither. Operators turn it off.
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
      for other in try writer.recoveryCodes(of: factor.user) where Secrets.equal(other, hash) { found = true }
      guard found else { throw wrong }
      try writer.removeRecoveryCode(hash, of: factor.user)
    }
  }

  /// 50 random bits: `abcde-fghij`.
  private static func makeRecoveryCode() -> String {
    var generator = SystemRandomNumberGenerator()
    let alphabet = Array("abcdefghijkmnpqrstuvwxyz23456789")
    func part() -> String { String((0..<5).map { _ in alphabet[Int.random(in: 0..<32, using: &generator)] }) }
    return part() + "-" + part()
  }

  /// However it was typed: case, spaces and hyphens do not count.
  private static func hash(ofRecoveryCode text: String, of user: UserID, _ secret: TokenSecret) -> [UInt8] {
    let plain = text.lowercased().filter { $0.isASCII && ($0.isLetter || $0.isNumber) }
    return secret.hash(["\(user.number)", plain], .recoveryCode)
  }
}

extension Problem {
  static func secondFactorRequired(challenge: String) -> Problem {
    Problem(
      .unauthenticated, "second-factor-required", "Send a code of the second factor with this challenge.",
      challenge: challenge)
  }
}
