import Addresses
import Basics
import DialogsFixtures
import Testing

@testable import Accounts
@testable import Dialogs

/// RFC 6238, and where a second factor is asked for.
@Suite struct SecondFactorTests {
  /// Appendix B, for SHA-1: the last six of the eight digits there.
  @Test(arguments: [
    (59, "287082"), (1_111_111_109, "081804"), (1_111_111_111, "050471"), (1_234_567_890, "005924"),
    (2_000_000_000, "279037"), (20_000_000_000, "353130"),
  ])
  func codesAreThoseOfTheSpecification(seconds: Int64, code: String) {
    let totp = TOTP(secret: Array("12345678901234567890".utf8))
    #expect(totp.code(TOTP.step(at: Timestamp(milliseconds: seconds * 1_000))) == code)
  }

  @Test func aCodeCountsForAStepAroundNowAndOnce() {
    let totp = TOTP(secret: Array("12345678901234567890".utf8))
    let now = Timestamp(milliseconds: 3_000_000_000)
    let step = TOTP.step(at: now)
    #expect(
      (-3...3).map { totp.step(of: totp.code(step + $0), at: now, after: 0) } == [
        nil, nil, step - 1, step, step + 1, nil, nil,
      ])
    #expect(totp.step(of: totp.code(step), at: now, after: step) == nil)
    #expect(totp.step(of: totp.code(step + 1), at: now, after: step) == step + 1)
    for text in ["", "1", "12345678", "abcdef"] { #expect(totp.step(of: text, at: now, after: 0) == nil) }
  }

  @Test func theSecretIsForProgramsAndForTyping() {
    let totp = TOTP(secret: Array("12345678901234567890".utf8))
    // RFC 4648 6.
    #expect(totp.base32 == "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ")
    #expect(TOTP(base32: totp.base32)?.code(1) == totp.code(1) && TOTP(base32: "a") == nil)
    #expect(TOTP(secret: Array("fooba".utf8)).base32 == "MZXW6YTB" && TOTP(secret: Array("f".utf8)).base32 == "MY")
    #expect(
      totp.uri(account: "juli et@localhost", issuer: "localhost")
        == "otpauth://totp/localhost:juli%20et%40localhost?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=localhost"
        + "&algorithm=SHA1&digits=6&period=30")
  }

  @Test func aChallengeIsOfThisServerAndEnds() throws {
    let secret = TokenSecret.random()
    let challenge = Challenge(
      user: UserID(7), expires: Timestamp(milliseconds: 1_000), fingerprint: [UInt8](repeating: 3, count: 16))
    let text = try challenge.text(secret)
    #expect(Challenge(text, secret, now: Timestamp(milliseconds: 999)) == challenge)
    #expect(Challenge(text, secret, now: Timestamp(milliseconds: 1_000)) == nil)
    #expect(Challenge(text, .random(), now: Timestamp(milliseconds: 1)) == nil)
    for bad in ["", "x", String(text.dropLast(2)), text + "AA", "é", String(repeating: "A", count: 10_000)] {
      #expect(Challenge(bad, secret, now: Timestamp(milliseconds: 1)) == nil, "\(bad.prefix(20))")
    }
    // A value that is sealed for one purpose opens for no other.
    let sealed = try secret.seal([1, 2, 3], .secondFactor, context: "1")
    #expect(secret.open(sealed, .secondFactor, context: "1") == [1, 2, 3])
    #expect(secret.open(sealed, .secondFactor, context: "2") == nil)
    #expect(secret.open(sealed, .challenge, context: "1") == nil)
  }

  /// Juliet, with a second factor.
  private struct Scene {
    let stage: Stage
    let juliet: BareJID
    let caller: Accounts.Caller
    let totp: TOTP
    let codes: [String]

    init() async throws {
      stage = try Stage()
      juliet = try BareJID("juliet@localhost")
      let user = try await stage.accounts.register(juliet, password: "wherefore", displayName: nil)
      let login = try await stage.accounts.logIn(user, device: "phone", client: nil)
      caller = try await stage.accounts.caller(accessToken: login.accessToken)
      let accounts = stage.accounts
      let own = caller
      #expect(await refusal { _ = try await accounts.enrol(own, password: nil, from: "a") } == "input-malformed")
      #expect(await refusal { _ = try await accounts.enrol(own, password: "no", from: "a") } == "wrong-password")
      let first = try await stage.accounts.enrol(caller, password: "wherefore", from: "a")
      let second = try await stage.accounts.enrol(caller, password: "wherefore", from: "a")
      guard case .totp(let void, _) = first, case .totp(let shown, _) = second else { throw StageError.full }
      #expect(void != shown)
      let stored = try #require(try await stage.parley.read { try $0.secondFactor(of: user.id) })
      #expect(!stored.isOn)
      totp = TOTP(
        secret: try #require(
          stage.accounts.options.accountSecret.open(stored.sealedSecret, .secondFactor, context: "\(user.id.number)")))
      #expect(totp.base32 == shown)
      let wrong = totp.code(TOTP.step(at: stage.clock.now) + 9)
      #expect(await refusal { _ = try await accounts.confirm(own, code: wrong, from: "a") } == "wrong-code")
      codes = try await stage.accounts.confirm(caller, code: totp.code(TOTP.step(at: stage.clock.now)), from: "a")
    }

    /// The code of now, after half a minute more.
    func next() -> String {
      stage.clock.set(stage.clock.now.milliseconds + 30_000)
      return totp.code(TOTP.step(at: stage.clock.now))
    }

    func challenge(_ password: String = "wherefore") async throws -> String {
      do {
        _ = try await stage.accounts.logIn(
          LoginAttempt(of: juliet, from: "a", device: nil), password: password, device: "desk", client: nil)
        throw StageError.full
      } catch let problem as Problem {
        #expect(problem.code == "second-factor-required")
        return try #require(problem.challenge)
      }
    }

    func answer(_ challenge: String, _ proof: Accounts.SecondProof) async throws -> Accounts.Login {
      try await stage.accounts.logIn(challenge: challenge, proof, from: "a", device: "desk", client: nil)
    }
  }

  @Test func anAppIsAskedForItAndGetsInByIt() async throws {
    let scene = try await Scene()
    #expect(scene.codes.count == AccountLimits.recoveryCodes && Set(scene.codes).count == scene.codes.count)
    let challenge = try await scene.challenge()
    let code = scene.next()
    #expect(await refusal { _ = try await scene.answer("made-up", .code(code)) } == "challenge-invalid")
    #expect(await refusal { _ = try await scene.answer(challenge, .code("000000")) } == "wrong-code")
    let login = try await scene.answer(challenge, .code(code))
    #expect(login.user.address == scene.juliet && login.grant.device == "desk")
    // The code is not accepted again, for any challenge.
    let another = try await scene.challenge()
    for each in [challenge, another] {
      #expect(await refusal { _ = try await scene.answer(each, .code(code)) } == "wrong-code")
    }
    // One of two concurrent logins with one code succeeds.
    let race = scene.next()
    async let one = refusal { _ = try await scene.answer(another, .code(race)) }
    async let other = refusal { _ = try await scene.answer(challenge, .code(race)) }
    #expect(Set([await one, await other]) == [nil, "wrong-code"])
    // Recovery codes, however typed; each once.
    _ = try await scene.answer(another, .recoveryCode(scene.codes[3].uppercased().replacing("-", with: " ")))
    #expect(await refusal { _ = try await scene.answer(another, .recoveryCode(scene.codes[3])) } == "wrong-code")
    _ = try await scene.answer(another, .recoveryCode(scene.codes[4]))
    #expect(
      await refusal { _ = try await scene.stage.accounts.enrol(scene.caller, password: "wherefore", from: "a") }
        == "second-factor-on")
  }

  @Test func aChallengeEndsWithItsTimeAndWithThePassword() async throws {
    let scene = try await Scene()
    let (first, second) = (try await scene.challenge(), try await scene.challenge())
    try await scene.stage.accounts.setPassword(of: scene.caller.user.id, "another one")
    let code = scene.next()
    #expect(await refusal { _ = try await scene.answer(first, .code(code)) } == "challenge-invalid")
    scene.stage.clock.set(scene.stage.clock.now.milliseconds + 600_000)
    #expect(await refusal { _ = try await scene.answer(second, .recoveryCode(scene.codes[0])) } == "challenge-invalid")
    // Another password takes no second factor away.
    let third = try await scene.challenge("another one")
    _ = try await scene.answer(third, .code(scene.next()))
  }

  @Test func guessingIsBoundedAndRightOnesAreNotCounted() async throws {
    let scene = try await Scene()
    let challenge = try await scene.challenge()
    for _ in 0..<15 { _ = try await scene.answer(challenge, .code(scene.next())) }
    let again = try await scene.challenge()
    var refusals: [String?] = []
    for _ in 0..<12 { refusals.append(await refusal { _ = try await scene.answer(again, .code("x")) }) }
    #expect(refusals.prefix(9).allSatisfy { $0 == "wrong-code" })
    #expect(refusals.last == "codes-too-fast")
  }

  /// The other door: the password fits nothing any more, an app password does, and what the password let in has gone.
  @Test func thePasswordAloneLetsNobodyInOverXMPP() async throws {
    let scene = try await Scene()
    let accounts = scene.stage.accounts
    let user = scene.caller.user.id
    let (_, text) = try await accounts.makeAppPassword(for: user, name: "old client")
    func matches(_ password: String) async throws -> [Int?] {
      let (found, own, others) = try await accounts.parley.read { try Accounts.allCredentials(of: scene.juliet, $0) }
      #expect(found?.id == user)
      return own.map { key in
        SCRAMKeys.match(password: password, among: [key] + others.filter { $0.keys.hash == key.hash }.map(\.keys))
      }
    }
    #expect(try await matches("wherefore") == [nil, nil, nil])
    #expect(try await matches(text) == [1, 1, 1])
    try await accounts.parley.read { reader in
      let (own, shown) = (try reader.credentials(of: user), try Accounts.allCredentials(of: scene.juliet, reader).keys)
      // A client sees no difference before it has sent its proof.
      #expect(own.map(\.salt) == shown.map(\.salt) && own.map(\.iterations) == shown.map(\.iterations))
      #expect(try !Access(.password, since: scene.stage.clock.now).stands(for: user, reader))
    }
    try await accounts.removeSecondFactor(scene.caller, .code(scene.next()), from: "a")
    #expect(try await matches("wherefore") == [0, 0, 0])
    #expect(
      try await accounts.parley.read { try Access(.password, since: Timestamp(milliseconds: 0)).stands(for: user, $0) })
    #expect(
      await refusal { try await accounts.removeSecondFactor(scene.caller, .code("1"), from: "a") }
        == "second-factor-missing")
  }

  @Test func turningItOnPutsOutWhoCameByThePasswordAlone() async throws {
    let stage = try Stage()
    let juliet = try BareJID("juliet@localhost")
    let user = try await stage.accounts.register(juliet, password: "wherefore", displayName: nil)
    let party = Party(id: user.id, realm: user.realm, address: user.address)
    let login = try await stage.accounts.logIn(user, device: "phone", client: nil)
    let caller = try await stage.accounts.caller(accessToken: login.accessToken)
    func goOnline(_ access: Access) async throws -> RecordingSession {
      let session = RecordingSession(party)
      var onlineSession = OnlineSession(session: session, door: .xmpp, resource: "r\(session.id)")
      onlineSession.access = access
      try await stage.parley.post(.goOnline(onlineSession), by: party)
      _ = session.taken()
      return session
    }
    let (password, _) = try await stage.accounts.makeAppPassword(for: user.id, name: "n")
    let byPassword = try await goOnline(Access(.password, since: stage.clock.now))
    let byAppPassword = try await goOnline(Access(.appPassword(password.id), since: stage.clock.now))
    let byGrant = try await goOnline(caller.access(since: stage.clock.now))
    _ = try await stage.accounts.enrol(caller, password: "wherefore", from: "a")
    #expect(byPassword.taken() == [])
    let stored = try #require(try await stage.parley.read { try $0.secondFactor(of: user.id) })
    let secret = try #require(
      stage.accounts.options.accountSecret.open(stored.sealedSecret, .secondFactor, context: "\(user.id.number)"))
    _ = try await stage.accounts.confirm(
      caller, code: TOTP(secret: secret).code(TOTP.step(at: stage.clock.now)), from: "a")
    #expect(byPassword.taken() == [.closed(.revoked)])
    #expect(byAppPassword.taken() == [] && byGrant.taken() == [])
    // A session by password that was being opened meanwhile is refused, too.
    let late = await refusal { _ = try await goOnline(Access(.password, since: stage.clock.now)) }
    #expect(late != nil)
    #expect(try await stage.accounts.removeSecondFactor(of: user.id))
    #expect(try await stage.accounts.removeSecondFactor(of: user.id) == false)
    _ = try await goOnline(Access(.password, since: stage.clock.now))
  }

  // MARK: Codes that are sent

  @Test func anAuthenticatorsCodesAreNotSent() async throws {
    let scene = try await Scene()
    let challenge = try await scene.challenge()
    #expect(
      await refusal { try await scene.stage.accounts.sendSecondFactorCode(challenge: challenge, from: "a") }
        == "second-factor-not-sent")
    #expect(
      await refusal { try await scene.stage.accounts.sendSecondFactorCode(challenge: "x", from: "a") }
        == "challenge-invalid")
  }

  @Test func codesMayBeSentToATelephone() async throws {
    let stage = try Stage()
    let (accounts, box) = (stage.accounts, SentCodes())
    accounts.employ(box, newcomers: [], registration: false)
    let address = try BareJID("juliet@localhost")
    let user = try await accounts.register(address, password: "wherefore", displayName: nil)
    let juliet = Party(id: user.id, realm: user.realm, address: address)
    let login = try await accounts.logIn(user, device: "phone", client: nil)
    let caller = try await accounts.caller(accessToken: login.accessToken)
    func enrol() async throws {
      guard case .sms(let expires) = try await accounts.enrol(caller, by: .sms, password: "wherefore", from: "a") else {
        throw StageError.full
      }
      #expect(expires == stage.clock.now + AccountLimits.codeLifetime)
    }
    func challenge() async throws -> String {
      do {
        let attempt = LoginAttempt(of: address, from: "a", device: nil)
        _ = try await accounts.logIn(attempt, password: "wherefore", device: "desk", client: nil)
        throw StageError.full
      } catch let problem as Problem {
        #expect(problem.code == "second-factor-required" && problem.secondFactor == "sms")
        return try #require(problem.challenge)
      }
    }
    func answer(_ challenge: String, _ code: String) async throws {
      _ = try await accounts.logIn(challenge: challenge, .code(code), from: "a", device: "desk", client: nil)
    }
    #expect(await refusal { try await enrol() } == "phone-missing")
    let phone = try Identity.phone("+390458000000")
    try await accounts.bind(phone, to: juliet)

    // It is asked for once it is confirmed, by the code and for this alone.
    try await enrol()
    let first = try #require(box.code())
    _ = try await accounts.logIn(
      LoginAttempt(of: address, from: "a", device: nil), password: "wherefore", device: "desk", client: nil)
    #expect(
      await refusal {
        _ = try await accounts.logIn(
          by: phone, code: first, in: juliet.realm, displayName: nil, from: "a", device: nil, client: nil)
      } == "wrong-code")
    #expect(
      await refusal { try await accounts.bind(phone, code: first, password: "wherefore", to: juliet, from: "a") }
        == "wrong-code")
    let recovery = try await accounts.confirm(caller, code: first, from: "a")
    #expect(recovery.count == AccountLimits.recoveryCodes)

    // Nothing is sent before it is asked for; a wrong code counts, and too many void the right one.
    let waiting = try await challenge()
    #expect(box.taken().isEmpty && first.count == 6)
    #expect(await refusal { try await answer(waiting, first) } == "wrong-code")
    try await accounts.sendSecondFactorCode(challenge: waiting, from: "a")
    let second = try #require(box.code())
    for _ in 0..<AccountLimits.codeAttemptsMax {
      #expect(await refusal { try await answer(waiting, "x") } == "wrong-code")
    }
    #expect(await refusal { try await answer(waiting, second) } == "wrong-code")
    try await accounts.sendSecondFactorCode(challenge: waiting, from: "a")
    let third = try #require(box.code())
    try await answer(waiting, third)
    #expect(await refusal { try await answer(waiting, third) } == "wrong-code")
    _ = try await accounts.logIn(
      challenge: waiting, .recoveryCode(recovery[0]), from: "a", device: "desk", client: nil)

    // The number stays as long as codes are sent there.
    #expect(await refusal { try await accounts.unbind(.phone, from: juliet) } == "second-factor-on")
    #expect(await refusal { try await accounts.unlink(phone.id, from: juliet) } == "second-factor-on")
    let other = try Identity.phone("+390458000001")
    try await accounts.sendCode(to: other, for: juliet, from: "a")
    let proof = try #require(box.code())
    #expect(
      await refusal { try await accounts.bind(other, code: proof, password: "wherefore", to: juliet, from: "a") }
        == "second-factor-on")

    // The user gets as many codes by mail as any address, and no more.
    stage.clock.set(stage.clock.now.milliseconds + 3_600_000)
    try await accounts.sendSecondFactorCode(to: caller, from: "a")
    let last = try #require(box.code())
    #expect(await refusal { try await accounts.removeSecondFactor(caller, .code("x"), from: "a") } == "wrong-code")
    try await accounts.removeSecondFactor(caller, .code(last), from: "a")
    #expect(await refusal { try await accounts.sendSecondFactorCode(to: caller, from: "a") } == "second-factor-missing")
    try await accounts.unbind(.phone, from: juliet)
  }

  @Test func codesOfASecondFactorAreBounded() async throws {
    let stage = try Stage()
    let (accounts, box) = (stage.accounts, SentCodes())
    accounts.employ(box, newcomers: [], registration: false)
    let user = try await accounts.register(try BareJID("juliet@localhost"), password: "wherefore", displayName: nil)
    try await accounts.bind(
      try .phone("+390458000000"), to: Party(id: user.id, realm: user.realm, address: user.address))
    let login = try await accounts.logIn(user, device: "phone", client: nil)
    let caller = try await accounts.caller(accessToken: login.accessToken)
    for _ in 0..<AccountLimits.codesOfHour.burst {
      _ = try await accounts.enrol(caller, by: .sms, password: "wherefore", from: "a")
    }
    #expect(box.taken().count == AccountLimits.codesOfHour.burst)
    #expect(
      await refusal { _ = try await accounts.enrol(caller, by: .sms, password: "wherefore", from: "a") }
        == "codes-too-fast")
    // They are no codes to sign in with, which anybody may request for the number.
    let phone = try Identity.phone("+390458000000")
    #expect(await refusal { try await accounts.sendCode(to: phone, in: user.realm, from: "b") } == nil)
    // A server that sends no codes has no second factor of this kind.
    accounts.employ(NoCodeSender(), newcomers: [], registration: false)
    #expect(
      await refusal { _ = try await accounts.enrol(caller, by: .sms, password: "wherefore", from: "a") }
        == "delivery-off")
  }

  /// The key is another one after its file was lost. Nothing stored names it, so that each start and check tries it.
  @Test func secondFactorsThatTheKeyDoesNotOpenAreCounted() async throws {
    let scene = try await Scene()
    let parley = scene.stage.parley
    #expect(try await scene.stage.accounts.lostSecondFactors() == nil)
    func lost(_ secret: TokenSecret?) async throws -> String? {
      try await parley.read { try Accounts.lostSecondFactors(secret, because: "the reason", $0) }
    }
    for secret in [TokenSecret.random(), nil] {
      let text = try #require(try await lost(secret))
      #expect(text.hasPrefix("The second factor of 1 user does not work, and logins end with wrong-code: the reason."))
      #expect(text.contains("parley user second-factor off"))
    }
    // Neither does one that was never confirmed count, nor one whose codes are sent.
    for (sealed, isOn) in [([1], false), ([], true)] as [([UInt8], Bool)] {
      let factor = SecondFactor(
        user: UserID(Int64.max), sealedSecret: sealed, isOn: isOn, lastStep: 0, createdAt: scene.stage.clock.now)
      try await parley.work { writer in _ = try writer.put(factor) }
      #expect(try await lost(nil)?.contains("of 1 user") == true)
    }
  }
}
