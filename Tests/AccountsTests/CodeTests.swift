import Addresses
import Basics
import DialogsFixtures
import Testing

@testable import Accounts
@testable import Dialogs

/// Tests of one-time codes, addresses and password resets.
@Suite struct CodeTests {
  @Test(arguments: [
    ("Juliet@Capulet.example", "juliet@capulet.example"), ("a.b+c@x.example", "a.b+c@x.example"),
    ("J@BÜCHER.example", "j@bücher.example"), ("j@xn--bcher-kva.example", "j@bücher.example"),
    ("j@x.example.", "j@x.example"),
  ])
  func mailAddressesAreNormalised(written: String, normal: String) throws {
    #expect(try Identity.email(written) == Identity(.email, normal))
  }

  @Test(arguments: [
    "", "@", "a", "a@", "@b", "a b@c.example", ".a@c.example", "a.@c.example", "a..b@c.example", "\"a\"@c.example",
    "a@b@c.example", "a@[192.0.2.1]", "a@c.example/x", "a\r\nBcc: b@c.example", "a@c.example\r\nRCPT", "ä@c.example",
    "a@c..example", "<a@c.example>", String(repeating: "a", count: 65) + "@c.example",
    "a@" + String(repeating: "c.", count: 130) + "example",
  ])
  func textThatIsNoMailAddressIsRefused(text: String) {
    #expect(throws: Problem.self) { try Identity.email(text) }
  }

  @Test func telephoneNumbersAreNormalised() throws {
    #expect(try Identity.phone("+39 (045) 800-00.00") == Identity(.phone, "+390458000000"))
    for text in [
      "", "+", "0458000000", "00390458000000", "+0458000000", "+123456", "+1234567890123456", "+39a4580000",
      "+٣٩٠٤٥٨٠٠٠٠",
    ] {
      #expect(throws: Problem.self, "\(text)") { try Identity.phone(text) }
    }
  }

  private static let mail = Identity(.email, "juliet@capulet.example")

  private func stage(
    _ newcomers: Set<Identity.Issuer> = [], registration: Bool = false
  ) throws -> (Stage, SentCodes, RealmID) {
    let stage = try Stage()
    let box = SentCodes()
    stage.accounts.employ(box, newcomers: newcomers, registration: registration)
    return (stage, box, stage.parley.realms[0].id)
  }

  private func juliet(_ stage: Stage) async throws -> (user: User, caller: Accounts.Caller) {
    let user = try await stage.accounts.register(
      try BareJID("juliet@localhost"), password: "wherefore", displayName: nil)
    try await stage.accounts.bind(Self.mail, to: Party(id: user.id, realm: user.realm, address: user.address))
    let login = try await stage.accounts.logIn(user, device: "phone", client: nil)
    return (user, try await stage.accounts.caller(accessToken: login.accessToken))
  }

  private func logIn(
    _ stage: Stage, _ code: String, as identity: Identity = CodeTests.mail
  ) async throws -> Accounts.Login {
    try await stage.accounts.logIn(
      by: identity, code: code, in: stage.parley.realms[0].id, displayName: "J", from: "a", device: nil, client: nil)
  }

  @Test func aCodeLetsInOnce() async throws {
    let (stage, box, realm) = try stage()
    let (user, _) = try await juliet(stage)
    try await stage.accounts.sendCode(to: Self.mail, in: realm, from: "a")
    let code = try #require(box.code())
    #expect(code.utf8.count == 6)
    #expect(try await logIn(stage, code).user.id == user.id)
    #expect(await refusal { _ = try await logIn(stage, code) } == "wrong-code")
    #expect(try await stage.parley.read { try $0.lastLogin(of: user.id) } == stage.clock.now)
    // The code itself is nowhere in the store: it is made with a key that is not there.
    try await stage.accounts.sendCode(to: Self.mail, in: realm, from: "a")
    let next = try #require(box.code())
    let row = try #require(try await stage.parley.read { try $0.code(for: Self.mail, of: nil, in: realm) })
    #expect(row.seed.count == 32 && row.seed != Token.hash(next))
  }

  @Test func aCodeEndsWithItsTimeAndItsTries() async throws {
    let (stage, box, realm) = try stage()
    _ = try await juliet(stage)
    func send() async throws -> String {
      stage.clock.set(stage.clock.now.milliseconds + 7_200_000)
      try await stage.accounts.sendCode(to: Self.mail, in: realm, from: "a")
      return try #require(box.code())
    }
    let late = try await send()
    stage.clock.set(stage.clock.now.milliseconds + 600_000)
    #expect(await refusal { _ = try await logIn(stage, late) } == "wrong-code")
    let guessed = try await send()
    for _ in 0..<AccountLimits.codeAttemptsMax {
      #expect(await refusal { _ = try await logIn(stage, guessed == "000000" ? "000001" : "000000") } == "wrong-code")
    }
    #expect(await refusal { _ = try await logIn(stage, guessed) } == "wrong-code")
    // The earlier one ends with its time.
    let (first, second) = (try await send(), try await send())
    if first != second { #expect(await refusal { _ = try await logIn(stage, first) } == "wrong-code") }
    _ = try await logIn(stage, second)
    // One of two concurrent logins with one code succeeds.
    let race = try await send()
    async let one = refusal { _ = try await logIn(stage, race) }
    async let other = refusal { _ = try await logIn(stage, race) }
    #expect(Set([await one, await other]) == [nil, "wrong-code"])
  }

  /// An unknown user gets no code, and the requester cannot tell: the writes, the answer and the bounds are the same.
  @Test func whetherAnAddressIsKnownIsNotTold() async throws {
    let (stage, box, realm) = try stage()
    _ = try await juliet(stage)
    let nobody = Identity(.email, "nobody@capulet.example")
    try await stage.accounts.sendCode(to: nobody, in: realm, from: "a")
    #expect(box.taken().isEmpty)
    #expect(try await stage.parley.read { try $0.code(for: nobody, of: nil, in: realm) } != nil)
    var refusals: [[String?]] = []
    for identity in [Self.mail, nobody] {
      var all: [String?] = []
      for number in 0..<10 {
        all.append(
          await refusal {
            try await stage.accounts.sendPasswordReset(to: identity, in: realm, from: "\(identity)\(number)")
          })
      }
      refusals.append(all)
    }
    #expect(refusals[0] == [String?](repeating: nil, count: 8) + ["codes-too-fast", "codes-too-fast"])
    #expect(refusals[1] == refusals[0])
    #expect(box.taken().count == 8)
    // One network cannot request codes for everybody.
    var count = 0
    for number in 0..<30 {
      let other = Identity(.phone, "+39045800\(100 + number)")
      if await refusal({ try await stage.accounts.sendCode(to: other, in: realm, from: "b") }) == nil { count += 1 }
    }
    #expect(count == AccountLimits.outgoingCodeRate.burst)
    // Disabled accounts get none.
    stage.clock.set(stage.clock.now.milliseconds + 86_400_000)
    let user = try #require(try await stage.parley.read { try $0.user(of: Self.mail, in: realm) })
    try await stage.accounts.setState(of: user, .disabled)
    try await stage.accounts.sendCode(to: Self.mail, in: realm, from: "c")
    try await stage.accounts.sendPasswordReset(to: Self.mail, in: realm, from: "c")
    #expect(box.taken().isEmpty)
  }

  /// What others request for an address takes neither the codes of a user nor their attempts.
  @Test func othersUseUpNothingOfAUsersOwn() async throws {
    let (stage, box, realm) = try stage()
    let (user, _) = try await juliet(stage)
    func send(_ network: String) async -> String? {
      await refusal { try await stage.accounts.sendCode(to: Self.mail, in: realm, from: network) }
    }
    func logsIn(_ code: String, _ network: String) async -> String? {
      await refusal {
        _ = try await stage.accounts.logIn(
          by: Self.mail, code: code, in: realm, displayName: nil, from: network, device: nil, client: nil)
      }
    }
    #expect(await send("hers") == nil)
    let code = try #require(box.code())
    let wrong = code == "000000" ? "000001" : "000000"
    // One network has at most half, and requests the code that she waits for once more.
    for _ in 0..<AccountLimits.codesOfHour.burst { #expect(await send("x") == nil) }
    #expect(await send("x") == "codes-too-fast")
    #expect(box.taken().allSatisfy { $0.content == .code(code) })
    #expect(await send("hers") == nil)
    #expect(box.code() == code)
    // It guesses, and so do others; her attempts are her own.
    for _ in 0..<10 { #expect(await logsIn(wrong, "x") == "wrong-code") }
    for number in 0..<50 { #expect(await logsIn(wrong, "y\(number)") == "wrong-code") }
    let row = try #require(try await stage.parley.read { try $0.code(for: Self.mail, of: nil, in: realm) })
    let taken = AccountLimits.codeAttemptsMax + AccountLimits.codeGuessesOfOthers.burst
    #expect(row.attemptsLeft == AccountLimits.codeGuessesMax - taken)
    #expect(await logsIn(code, "y50") == "wrong-code")
    #expect(await logsIn(code, "x") == "wrong-code")
    #expect(await logsIn(code, "hers") == nil)

    // Many networks together use up what unknown ones have; not what a network has from which she has logged in.
    for number in 0..<10 { _ = await send("z\(number)") }
    #expect(await send("new") == "codes-too-fast")
    #expect(await send("hers") == nil)
    // Nor resets, which have budgets of their own, which hold in the same way.
    #expect(
      await refusal { try await stage.accounts.sendPasswordReset(to: Self.mail, in: realm, from: "new") } == nil)
    // Nor the tries of a code that she requests in one known network and enters in another.
    _ = try await stage.accounts.logIn(
      LoginAttempt(of: user.address, from: "office", device: nil), password: "wherefore", device: "desk", client: nil)
    #expect(box.taken().count > 0)
    #expect(await send("hers") == nil)
    let next = try #require(box.code())
    #expect(await logsIn(next, "office") == nil)
  }

  @Test func guessesCountForTheCodeThatTheyAreOf() async throws {
    let (stage, box, realm) = try stage()
    let (_, caller) = try await juliet(stage)
    func guess(_ identity: Identity) async {
      for _ in 0..<AccountLimits.codeAttemptsMax {
        #expect(await refusal { _ = try await logIn(stage, "none", as: identity) } == "wrong-code")
      }
    }
    // There is nothing to guess before a code is requested.
    await guess(Self.mail)
    try await stage.accounts.sendCode(to: Self.mail, in: realm, from: "b")
    let code = try #require(box.code())
    _ = try await logIn(stage, code)
    // Somebody else in her network requests a code to sign in with, and guesses: hers proves the address.
    let next = try Identity.email("j@montague.example")
    try await stage.accounts.sendCode(to: next, for: caller.user, from: "a")
    let proof = try #require(box.code())
    try await stage.accounts.sendCode(to: next, in: realm, from: "a")
    await guess(next)
    try await stage.accounts.bind(next, code: proof, password: "wherefore", to: caller.user, from: "a")
  }

  @Test func withoutACourierNothingIsSent() async throws {
    let stage = try Stage()
    let realm = stage.parley.realms[0].id
    #expect(await refusal { try await stage.accounts.sendCode(to: Self.mail, in: realm, from: "a") } == "delivery-off")
    stage.accounts.employ(SentCodes([.email]), newcomers: [], registration: false)
    #expect(await refusal { try await stage.accounts.sendCode(to: Self.mail, in: realm, from: "a") } == nil)
    #expect(
      await refusal { try await stage.accounts.sendCode(to: .phone("+390458000000"), in: realm, from: "a") }
        == "delivery-off")
  }

  @Test func aStrangerBecomesAUserWhereThatIsAllowed() async throws {
    let (stage, box, realm) = try stage([.phone])
    let phone = try Identity.phone("+390458000000")
    try await stage.accounts.sendCode(to: phone, in: realm, from: "a")
    let code = try #require(box.code())
    let user = try await logIn(stage, code, as: phone).user
    #expect(user.profile.displayName == "J")
    try await stage.accounts.sendCode(to: phone, in: realm, from: "a")
    let next = try #require(box.code())
    #expect(try await logIn(stage, next, as: phone).user.id == user.id)
    // Nobody registers by mail here.
    try await stage.accounts.sendCode(to: Self.mail, in: realm, from: "a")
    #expect(box.taken().isEmpty)
    // A user without a password gets an app password for XMPP all the same, and may set a password.
    let account = try await stage.parley.read { try Account(of: user.id, $0) }
    #expect(!account.hasPassword && account.subject(.phone) == phone.subject)
    let (_, text) = try await stage.accounts.makeAppPassword(for: user.id, name: "client")
    let (_, own, others) = try await stage.parley.read { try Accounts.allCredentials(of: user.address, $0) }
    #expect(own.count == 3 && own.allSatisfy(\.isLocked))
    #expect(
      SCRAMKeys.match(password: text, among: [own[1]] + others.filter { $0.keys.hash == own[1].hash }.map(\.keys)) == 1)
    #expect(try await stage.parley.read { try !Account(of: user.id, $0).hasPassword })
    let login = try await stage.accounts.logIn(user, device: "d", client: nil)
    let caller = try await stage.accounts.caller(accessToken: login.accessToken)
    #expect(await refusal { try await stage.accounts.unbind(.phone, from: caller.user) } == "last-sign-in")
    try await stage.accounts.changePassword(of: caller, current: nil, to: "long enough", from: "a")
    _ = try await stage.accounts.verify(user.address, password: "long enough")
    try await stage.accounts.unbind(.phone, from: caller.user)
  }

  /// An identity that admits nobody does not count as a way to log in, whether it is removed as an address or as an
  /// identity.
  @Test func theLastWayInStays() async throws {
    let (stage, _, _) = try stage()
    let user = try await stage.user("romeo")
    let phone = try Identity.phone("+390458000000")
    for identity in [Self.mail, phone] { try await stage.accounts.bind(identity, to: user) }
    try await stage.accounts.unbind(.email, from: user)
    #expect(await refusal { try await stage.accounts.unbind(.phone, from: user) } == "last-sign-in")
    #expect(await refusal { try await stage.accounts.unlink(phone.id, from: user) } == "last-sign-in")
    #expect(await refusal { try await stage.accounts.unbind(.email, from: user) } == "identity-unknown")
    // Here no mail is sent.
    stage.accounts.employ(SentCodes([.phone]), newcomers: [], registration: false)
    try await stage.accounts.bind(Self.mail, to: user)
    #expect(await refusal { try await stage.accounts.unbind(.phone, from: user) } == "last-sign-in")
    try await stage.accounts.unlink(Self.mail.id, from: user)
    try await stage.accounts.bind(Self.mail, to: user)
    stage.accounts.employ(SentCodes(), newcomers: [], registration: false)
    try await stage.accounts.unlink(phone.id, from: user)
  }

  @Test func anAddressIsProvedBeforeItCounts() async throws {
    let (stage, box, realm) = try stage()
    let (user, caller) = try await juliet(stage)
    let next = try Identity.email("j@montague.example")
    try await stage.accounts.sendCode(to: next, for: caller.user, from: "a")
    let code = try #require(box.code())
    // It is for this alone, and for her alone.
    #expect(await refusal { _ = try await logIn(stage, code, as: next) } == "wrong-code")
    #expect(
      await refusal { try await stage.accounts.bind(next, code: code, password: nil, to: caller.user, from: "a") }
        == "input-malformed")
    let nurse = try await stage.user("nurse")
    #expect(
      await refusal { try await stage.accounts.bind(next, code: code, password: nil, to: nurse, from: "a") }
        == "wrong-code")
    try await stage.accounts.bind(next, code: code, password: "wherefore", to: caller.user, from: "a")
    let account = try await stage.parley.read { try Account(of: user.id, $0) }
    #expect(account.identities.map(\.identity) == [next])
    // Somebody else's stays theirs.
    try await stage.accounts.sendCode(to: next, for: nurse, from: "b")
    let other = try #require(box.code())
    #expect(
      await refusal { try await stage.accounts.bind(next, code: other, password: nil, to: nurse, from: "b") }
        == "identity-taken")
    #expect(try await stage.accounts.address(for: next, in: realm) == user.address)
    let stand = try await stage.accounts.address(for: Self.mail, in: realm)
    #expect(try await stage.parley.read { try $0.user(stand) } == nil)
    #expect(try await stage.accounts.address(for: Self.mail, in: realm) == stand)
  }

  @Test func anAccountIsMadeWithAnAddressThatACodeProves() async throws {
    let (stage, box, realm) = try stage(registration: true)
    func register(_ name: String?, _ code: String) async throws -> User {
      try await stage.accounts.register(
        name.map { try BareJID("\($0)@localhost") }, password: "wherefore", displayName: "J", by: Self.mail, code: code,
        in: realm, from: "a")
    }
    _ = try await stage.user("taken")
    try await stage.accounts.sendCode(to: Self.mail, in: realm, from: "a")
    let code = try #require(box.code())
    #expect(await refusal { _ = try await register("juliet", code == "1" ? "2" : "1") } == "wrong-code")
    // Without the code nobody learns which names there are.
    #expect(await refusal { _ = try await register("taken", code == "1" ? "2" : "1") } == "wrong-code")
    #expect(await refusal { _ = try await register("taken", code) } == "name-taken")
    let user = try await register(nil, code)
    #expect(try await stage.accounts.address(for: Self.mail, in: realm) == user.address)
    _ = try await stage.accounts.verify(user.address, password: "wherefore")
    try await stage.accounts.sendCode(to: Self.mail, in: realm, from: "a")
    let again = try #require(box.code())
    #expect(await refusal { _ = try await register("juliet", again) } == "identity-taken")
    #expect(try await stage.parley.read { try $0.user(try BareJID("juliet@localhost")) } == nil)
  }

  @Test func aResetSetsAPasswordOnceAndEndsEverything() async throws {
    let (stage, box, realm) = try stage()
    let (user, caller) = try await juliet(stage)
    let session = RecordingSession(caller.user)
    var onlineSession = OnlineSession(session: session, door: .xmpp, resource: "r")
    onlineSession.access = Access(.password, since: stage.clock.now)
    try await stage.parley.post(.goOnline(onlineSession), by: caller.user)
    _ = session.taken()
    func reset(_ token: String, _ password: String = "a new password") async -> String? {
      await refusal { try await stage.accounts.resetPassword(token: token, to: password, from: "a") }
    }
    try await stage.accounts.sendPasswordReset(to: Self.mail, in: realm, from: "a")
    let token = try #require(box.token())
    try await stage.accounts.sendPasswordReset(to: Self.mail, in: realm, from: "a")
    let other = try #require(box.token())
    #expect(await reset("made up") == "reset-unknown")
    #expect(await reset(token, "short") == "password-too-short")
    #expect(await reset(token) == nil)
    #expect(session.taken() == [.closed(.passwordChanged)])
    #expect(try await stage.accounts.grants(of: user.id) == [])
    _ = try await stage.accounts.verify(user.address, password: "a new password")
    // The token is valid once only, and earlier ones no more.
    #expect(await reset(token) == "reset-unknown")
    #expect(await reset(other) == "reset-unknown")
    try await stage.accounts.sendPasswordReset(to: Self.mail, in: realm, from: "a")
    let late = try #require(box.token())
    stage.clock.set(stage.clock.now.milliseconds + 3_600_000)
    #expect(await reset(late) == "reset-unknown")
    // A stolen database holds no link.
    #expect(try await stage.parley.read { try $0.passwordReset(token: Array(late.utf8)) } == nil)
  }

  @Test func oneChangesOnesPasswordAndStays() async throws {
    let (stage, _, _) = try stage()
    let (user, caller) = try await juliet(stage)
    let other = try await stage.accounts.logIn(user, device: "tablet", client: nil)
    func change(_ current: String?, _ password: String) async -> String? {
      await refusal {
        try await stage.accounts.changePassword(of: caller, current: current, to: password, from: "a")
      }
    }
    #expect(await change(nil, "a new password") == "input-malformed")
    #expect(await change("no", "a new password") == "wrong-password")
    #expect(await change("wherefore", "short") == "password-too-short")
    #expect(await change("wherefore", "a new password") == nil)
    #expect(try await stage.accounts.grants(of: user.id).map(\.id) == [caller.grant])
    await #expect(throws: Problem.self) { try await stage.accounts.caller(accessToken: other.accessToken) }
    _ = try await stage.accounts.verify(user.address, password: "a new password")
    // Everybody else is signed out at will, too.
    _ = try await stage.accounts.logIn(user, device: "tablet", client: nil)
    try await stage.accounts.logOutOthers(caller)
    #expect(try await stage.accounts.grants(of: user.id).map(\.id) == [caller.grant])
  }
}
