import Accounts
import Addresses
import Basics
import Dialogs
import DialogsFixtures
import Logging
import Synchronization
import Testing

/// A verifier that knows the tokens that it was given, by their texts.
private final class KnownTokens: IdentityVerifier {
  private let proofs = Mutex<[String: IdentityProof]>([:])
  let domains: Set<String>
  init(_ domains: Set<String> = ["localhost"]) { self.domains = domains }

  func put(_ text: String, _ proof: IdentityProof) { proofs.withLock { $0[text] = proof } }
  func hasBackend(_ domain: String) -> Bool { domains.contains(domain) }
  func providers(of domain: String) -> [String] { domains.contains(domain) ? ["google"] : [] }
  func authorizationEndpoints(of domain: String) -> [AuthorizationEndpoint] { [] }
  func verify(_ token: IdentityToken, for domain: String) async throws(Problem) -> IdentityProof {
    let text =
      switch token {
      case .backend(let text), .provider(_, let text): text
      case .code(_, let grant): grant.code
      }
    guard let proof = proofs.withLock({ $0[text] }) else { throw Problem(.unauthenticated, "wrong", "") }
    return proof
  }
}

private struct Gallery: PictureFinder {
  let pictures: [String: [UInt8]]
  func picture(at url: String) async -> [UInt8]? { pictures[url] }
}

/// Tests of login with tokens of backends and providers: the account of each token, and its reuse.
@Suite struct TokenLoginTests {
  private let tokens = KnownTokens(["localhost", "verona.example"])

  private func stage(
    guests: GuestPolicy = .none, admins: Set<BareJID> = [], pictures: (any PictureFinder)? = nil
  ) throws -> Stage {
    try Stage(
      admins: admins, guests: guests, domains: ["localhost", "verona.example"],
      signIn: SignInPolicy(verifier: tokens, pictures: pictures))
  }

  private func code(_ body: () async throws -> Void) async -> String? {
    do { try await body() } catch { return (error as? Problem)?.code ?? "\(error)" }
    return nil
  }

  private func logIn(_ stage: Stage, _ text: String, realm: Int = 0) async throws -> User {
    try await stage.accounts.logIn(
      by: .backend(text), in: stage.parley.realms[realm].id, device: nil, client: nil
    ).user
  }

  private func backend(_ principal: String, nonce: String?, name: String? = nil) -> IdentityProof {
    IdentityProof(
      Identity(.external, principal), localpart: principal, displayName: name, renames: true, nonce: nonce,
      needsNonce: true, admitsNewcomers: true)
  }

  private func nonce(_ stage: Stage, realm: Int = 0) throws -> String {
    try stage.accounts.makeNonce(in: stage.parley.realms[realm].id).text
  }

  @Test func theSameWhoeverComesAgainIsTheSameUser() async throws {
    let stage = try stage()
    tokens.put("1", backend("romeo@montague.example", nonce: try nonce(stage), name: "Romeo"))
    let romeo = try await logIn(stage, "1")
    #expect(romeo.profile.displayName == "Romeo" && romeo.name.count == 21)
    // The identity provider manages the name.
    tokens.put("2", backend("romeo@montague.example", nonce: try nonce(stage), name: "Romeo M."))
    let again = try await logIn(stage, "2")
    #expect(again.id == romeo.id && again.profile.displayName == "Romeo M.")
    // A name that can be had is had, unless it is somebody's: an account is not taken over by its name.
    tokens.put("3", backend("juliet", nonce: try nonce(stage)))
    #expect(try await logIn(stage, "3").name == "juliet")
    let nurse = try await stage.user("nurse")
    tokens.put("4", backend("nurse", nonce: try nonce(stage)))
    let other = try await logIn(stage, "4")
    #expect(other.id != nurse.id && other.name != "nurse")
    tokens.put("5", backend("nurse", nonce: try nonce(stage)))
    #expect(try await logIn(stage, "5").id == other.id)
    #expect(
      try await stage.accounts.identities(of: other.id).map(\.identity) == [Identity(.external, "nurse")])
  }

  @Test func nobodyBecomesAnAdminByAName() async throws {
    let stage = try stage(admins: [try BareJID("prince@localhost")])
    tokens.put("1", backend("prince", nonce: try nonce(stage)))
    #expect(try await logIn(stage, "1").name != "prince")
  }

  @Test(arguments: ["me", ".", ".."]) func nobodyIsCalledByAReservedWord(word: String) async throws {
    let stage = try stage()
    tokens.put("1", backend(word, nonce: try nonce(stage)))
    let user = try await logIn(stage, "1")
    #expect(user.name == user.localpart && user.name.count == 21)
  }

  @Test func aNonceIsGoodOnce() async throws {
    let stage = try stage()
    let nonce = try nonce(stage)
    tokens.put("1", backend("romeo", nonce: nonce))
    tokens.put("2", backend("juliet", nonce: nonce))
    _ = try await logIn(stage, "1")
    for text in ["1", "2"] { #expect(await code { _ = try await logIn(stage, text) } == "nonce-invalid") }
    // A refused login makes no account.
    let (realm, juliet) = (stage.parley.realms[0].id, Identity(.external, "juliet"))
    #expect(try await stage.parley.read { try $0.user(of: juliet, in: realm) } == nil)
  }

  @Test func oneOfManyConcurrentLoginsSucceeds() async throws {
    let stage = try stage()
    let nonce = try nonce(stage)
    for number in 0..<20 { tokens.put("\(number)", backend("user\(number % 2)", nonce: nonce)) }
    let taken = await withTaskGroup(of: Bool.self) { group in
      for number in 0..<20 { group.addTask { (try? await logIn(stage, "\(number)")) != nil } }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(taken == 1)
    #expect(try await stage.parley.read { try $0.userCount(in: stage.parley.realms[0].id) } == 1)
  }

  @Test func oneOfManyFirstLoginsMakesTheUser() async throws {
    let stage = try stage()
    for number in 0..<20 { tokens.put("\(number)", backend("romeo", nonce: try nonce(stage))) }
    let users = await withTaskGroup(of: UserID?.self) { group in
      for number in 0..<20 { group.addTask { (try? await logIn(stage, "\(number)"))?.id } }
      return await group.reduce(into: Set<UserID?>()) { $0.insert($1) }
    }
    #expect(users.count == 1 && !users.contains(nil))
  }

  @Test func aNonceIsOfItsRealmAndItsTime() async throws {
    let stage = try stage()
    let old = try nonce(stage)
    tokens.put("foreign", backend("romeo", nonce: try nonce(stage, realm: 1)))
    tokens.put("none", backend("romeo", nonce: nil))
    tokens.put("old", backend("romeo", nonce: old))
    #expect(await code { _ = try await logIn(stage, "foreign") } == "nonce-invalid")
    #expect(await code { _ = try await logIn(stage, "none") } == "nonce-invalid")
    var made = [
      "", "..", "a.b.c", String(repeating: "x", count: 200), old + ".", old.uppercased(), String(old.dropLast()),
    ]
    // A later end, and other bytes.
    let parts = old.split(separator: ".").map(String.init)
    made.append("\(parts[0]).\((Int64(parts[1]) ?? 0) + 1).\(parts[2])")
    made.append("\(parts[0]).+\(parts[1]).\(parts[2])")
    made.append("\(parts[0]).0\(parts[1]).\(parts[2])")
    // Fewer than a network may be wrong.
    for index in stride(from: 0, to: old.utf8.count, by: 2) {
      var bytes = Array(old.utf8)
      bytes[index] ^= 1
      made.append(String(decoding: bytes, as: UTF8.self))
    }
    for text in made {
      tokens.put("made", backend("romeo", nonce: text))
      #expect(await code { _ = try await logIn(stage, "made") } == "nonce-invalid", "\(text)")
    }
    // The token is valid in its own realm, and before its nonce ends.
    #expect(try await logIn(stage, "foreign", realm: 1).address.domain == "verona.example")
    stage.clock.set(stage.clock.now.milliseconds + 600_000)
    #expect(await code { _ = try await logIn(stage, "old") } == "nonce-invalid")
  }

  /// A provider's token need not bring a nonce; one of ours in it is used up, also behind its time.
  @Test func aProvidersNonceIsLookedAtWhereItIsOurs() async throws {
    let stage = try stage()
    func proof(_ nonce: String?) -> IdentityProof {
      IdentityProof(Identity(.provider("google"), "1"), nonce: nonce, admitsNewcomers: true)
    }
    let ours = try nonce(stage)
    tokens.put("none", proof(nil))
    tokens.put("own", proof("the client's own"))
    tokens.put("ours", proof(ours))
    let first = try await logIn(stage, "none")
    #expect(try await logIn(stage, "own").id == first.id)
    #expect(try await logIn(stage, "ours").id == first.id)
    #expect(await code { _ = try await logIn(stage, "ours") } == "nonce-invalid")
    let late = try nonce(stage)
    tokens.put("late", proof(late))
    stage.clock.set(stage.clock.now.milliseconds + 600_000)
    #expect(await code { _ = try await logIn(stage, "late") } == "nonce-invalid")
  }

  @Test func realmsAreApart() async throws {
    let stage = try stage()
    tokens.put("1", backend("romeo", nonce: try nonce(stage)))
    tokens.put("2", backend("romeo", nonce: try nonce(stage, realm: 1)))
    let (one, other) = (try await logIn(stage, "1"), try await logIn(stage, "2", realm: 1))
    #expect(one.id != other.id && one.realm != other.realm && one.name == "romeo" && other.name == "romeo")
  }

  @Test func aRefusedUserDoesNotLogIn() async throws {
    let stage = try stage()
    var proof = backend("romeo", nonce: try nonce(stage))
    proof.admitsNewcomers = false
    tokens.put("closed", proof)
    #expect(await code { _ = try await logIn(stage, "closed") } == "identity-unknown")
    #expect(await code { _ = try await logIn(stage, "wrong") } == "wrong")
    // The nonce was not used up by that.
    proof.admitsNewcomers = true
    tokens.put("open", proof)
    let romeo = try await logIn(stage, "open")
    proof.admitsNewcomers = false
    proof.nonce = try nonce(stage)
    tokens.put("closed", proof)
    #expect(try await logIn(stage, "closed").id == romeo.id)
    try await stage.accounts.setState(of: romeo.id, .disabled)
    proof.nonce = try nonce(stage)
    tokens.put("locked", proof)
    #expect(await code { _ = try await logIn(stage, "locked") } == "account-disabled")
    // The user is deleted: the next login makes a new one.
    try await stage.accounts.setState(of: romeo.id, .deleted)
    tokens.put("new", backend("romeo", nonce: try nonce(stage)))
    let next = try await logIn(stage, "new")
    #expect(next.id != romeo.id && next.name != "romeo")
  }

  @Test func loginsOfOneIdentityArePaced() async throws {
    let stage = try stage()
    for _ in 0..<AccountLimits.tokenLoginRate.burst {
      tokens.put("1", backend("romeo", nonce: try nonce(stage)))
      _ = try await logIn(stage, "1")
    }
    tokens.put("1", backend("romeo", nonce: try nonce(stage)))
    #expect(await code { _ = try await logIn(stage, "1") } == "requests-too-fast")
    tokens.put("2", backend("juliet", nonce: try nonce(stage)))
    #expect(await code { _ = try await logIn(stage, "2") } == nil)
  }

  /// An address that a provider vouches for never leads to another's account.
  @Test func contactsAreTakenWhereTheyAreFree() async throws {
    let stage = try stage()
    let (mail, phone) = (Identity(.email, "juliet@capulet.example"), Identity(.phone, "+39045800000"))
    let juliet = try await stage.user("juliet")
    try await stage.accounts.bind(mail, to: juliet)
    tokens.put(
      "1", IdentityProof(Identity(.provider("google"), "1"), contacts: [mail, phone], admitsNewcomers: true))
    let other = try await logIn(stage, "1")
    #expect(other.id != juliet.id)
    #expect(
      try await stage.accounts.identities(of: other.id).map(\.identity) == [phone, Identity(.provider("google"), "1")])
    #expect(try await stage.accounts.identities(of: juliet.id).map(\.identity) == [mail])
    // An identity that the user has unlinked does not come back by itself.
    try await stage.accounts.unlink(phone.id, from: Party(id: other.id, realm: other.realm, address: other.address))
    _ = try await logIn(stage, "1")
    #expect(try await stage.accounts.identities(of: other.id).count == 1)
  }

  @Test func picturesAreFetchedOnceForEachAddress() async throws {
    let png =
      Array("\u{89}PNG".unicodeScalars).map { UInt8($0.value) } + [0x0d, 0x0a, 0x1a, 0x0a]
      + [UInt8](repeating: 1, count: 40)
    let stage = try stage(pictures: Gallery(pictures: ["https://x/1": png, "https://x/2": Array("text".utf8)]))
    var proof = backend("romeo", nonce: try nonce(stage))
    proof.pictureURL = "https://x/1"
    tokens.put("1", proof)
    let user = try await logIn(stage, "1")
    let romeo = Party(id: user.id, realm: user.realm, address: user.address)
    func hash() async throws -> String? { try await stage.parley.read { try $0.user(user.id)?.profile.avatarHash } }
    while try await hash() == nil { await Task.yield() }
    #expect(try await hash() == Avatar(png).hash)
    while try await stage.parley.read({ try $0.value(of: user.id, node: "parley:picture", item: "url") }) == nil {
      await Task.yield()
    }
    // The user's own choice stays, whatever comes again.
    try await stage.parley.post(.profile(ProfileDraft(avatar: .some(nil))), by: romeo)
    proof.nonce = try nonce(stage)
    tokens.put("2", proof)
    _ = try await logIn(stage, "2")
    proof.nonce = try nonce(stage)
    proof.pictureURL = "https://x/2"
    tokens.put("3", proof)
    _ = try await logIn(stage, "3")
    await stage.parley.stop()
    #expect(try await hash() == nil)
  }

  // MARK: Linking

  private func party(_ user: User) -> Party { Party(id: user.id, realm: user.realm, address: user.address) }

  @Test func severalWaysLeadToOneUser() async throws {
    let stage = try stage()
    tokens.put("1", backend("romeo", nonce: try nonce(stage)))
    tokens.put("2", IdentityProof(Identity(.provider("google"), "7"), displayName: "R", admitsNewcomers: true))
    let romeo = party(try await logIn(stage, "1"))
    let (linked, isNew) = try await stage.accounts.link(.provider("google", idToken: "2"), to: romeo)
    #expect(isNew && linked.identity == Identity(.provider("google"), "7"))
    #expect(try await stage.accounts.link(.provider("google", idToken: "2"), to: romeo).isNew == false)
    #expect(try await logIn(stage, "2").id == romeo.id)
    // A nonce is used up by linking too.
    #expect(await code { _ = try await stage.accounts.link(.backend("1"), to: romeo) } == "nonce-invalid")
    // Another's.
    let juliet = try await stage.user("juliet")
    #expect(
      await code { _ = try await stage.accounts.link(.provider("google", idToken: "2"), to: juliet) }
        == "identity-taken")
    #expect(await code { try await stage.accounts.unlink(linked.identity.id, from: juliet) } == "identity-unknown")
  }

  @Test func theLastWayInStays() async throws {
    let stage = try stage()
    tokens.put("1", backend("romeo", nonce: try nonce(stage)))
    tokens.put("2", IdentityProof(Identity(.provider("google"), "7"), admitsNewcomers: true))
    let romeo = party(try await logIn(stage, "1"))
    let (external, google) = (Identity(.external, "romeo"), Identity(.provider("google"), "7"))
    #expect(await code { try await stage.accounts.unlink(external.id, from: romeo) } == "last-sign-in")
    // An app password is no way into the app.
    _ = try await stage.accounts.makeAppPassword(for: romeo.id, name: "Old client")
    #expect(await code { try await stage.accounts.unlink(external.id, from: romeo) } == "last-sign-in")
    // A mail address that lets nobody in neither.
    try await stage.accounts.bind(Identity(.email, "romeo@montague.example"), to: romeo)
    #expect(await code { try await stage.accounts.unlink(external.id, from: romeo) } == "last-sign-in")
    _ = try await stage.accounts.link(.provider("google", idToken: "2"), to: romeo)
    // Both at the same moment: one stays.
    let codes = await withTaskGroup(of: String?.self) { group in
      for identity in [external, google] {
        group.addTask { await code { try await stage.accounts.unlink(identity.id, from: romeo) } }
      }
      return await group.reduce(into: [String?]()) { $0.append($1) }
    }
    #expect(codes.contains(nil) && codes.contains("last-sign-in"))
    try await stage.accounts.setPassword(of: romeo.id, "wherefore")
    for identity in try await stage.accounts.identities(of: romeo.id) {
      #expect(await code { try await stage.accounts.unlink(identity.identity.id, from: romeo) } == nil)
    }
  }

  @Test func identitiesAreBounded() async throws {
    let stage = try stage()
    let romeo = try await stage.user("romeo")
    for number in 0..<AccountLimits.identitiesPerUserMax {
      try await stage.accounts.bind(Identity(.email, "\(number)@montague.example"), to: romeo)
    }
    tokens.put("1", IdentityProof(Identity(.provider("google"), "7"), admitsNewcomers: true))
    #expect(
      await code { _ = try await stage.accounts.link(.provider("google", idToken: "1"), to: romeo) }
        == "too-many-identities")
  }

  // MARK: Guests

  private var guestPolicy: GuestPolicy { GuestPolicy(domains: ["localhost"]) }

  private func guest(_ stage: Stage) async throws -> (user: Party, login: Accounts.Login) {
    let login = try await stage.accounts.logInAsGuest(in: "localhost", from: "192.0.2.1", device: "d", client: nil)
    return (party(login.user), login)
  }

  @Test func aGuestWhoLinksStays() async throws {
    let stage = try stage(guests: guestPolicy)
    let (visitor, login) = try await guest(stage)
    #expect(login.user.isGuest && stage.parley.isGuest(visitor.id))
    let romeo = try await stage.user("romeo")
    _ = try await stage.say("May I help you?", from: romeo, to: visitor)
    tokens.put("1", backend("juliet", nonce: try nonce(stage), name: "Juliet"))
    _ = try await stage.accounts.link(.backend("1"), to: visitor)
    #expect(!stage.parley.isGuest(visitor.id))
    let user = try #require(try await stage.parley.read { try $0.user(visitor.id) })
    // The same address, and a name now.
    #expect(!user.isGuest && user.address == visitor.address && user.profile.displayName == "Juliet")
    #expect(try await stage.parley.read { try $0.dialog(between: romeo.id, and: visitor.id) } != nil)
    // The user may do what guests may not, and is not swept out with guests.
    _ = try await stage.accounts.makeAppPassword(for: visitor.id, name: "Old client")
    stage.clock.set(stage.clock.now.milliseconds + 3_600_000)
    #expect(try await stage.accounts.sweepGuests() == 0)
    #expect(try await stage.accounts.removeGuests() == 0)
    tokens.put("2", backend("juliet", nonce: try nonce(stage)))
    #expect(try await logIn(stage, "2").id == visitor.id)
  }

  @Test func aGuestWhoseIdentityIsAnothersStaysAGuest() async throws {
    let stage = try stage(guests: guestPolicy)
    tokens.put("1", backend("juliet", nonce: try nonce(stage)))
    _ = try await logIn(stage, "1")
    let (visitor, _) = try await guest(stage)
    tokens.put("2", backend("juliet", nonce: try nonce(stage)))
    #expect(await code { _ = try await stage.accounts.link(.backend("2"), to: visitor) } == "identity-taken")
    #expect(stage.parley.isGuest(visitor.id))
    #expect(try await stage.parley.read { try $0.user(visitor.id)?.isGuest } == true)
    #expect(await code { _ = try await stage.accounts.makeAppPassword(for: visitor.id, name: "x") } == "guest-limited")
  }

  /// A guest becomes a user at the moment of their removal: one of both happens, and no deleted user remains.
  @Test func upgradesAndSweepsDoNotMeet() async throws {
    let stage = try stage(guests: GuestPolicy(domains: ["localhost"], grace: .zero))
    for number in 0..<20 {
      let (visitor, _) = try await guest(stage)
      tokens.put("\(number)", backend("user\(number)", nonce: try nonce(stage)))
      async let linked = code { _ = try await stage.accounts.link(.backend("\(number)"), to: visitor) }
      async let swept = stage.accounts.sweepGuests()
      let (refusal, _) = (await linked, try await swept)
      let user = try #require(try await stage.parley.read { try $0.user(visitor.id) })
      #expect(!stage.parley.isGuest(visitor.id))
      if refusal == nil {
        #expect(user.state == .active && !user.isGuest)
      } else {
        #expect(refusal == "account-disabled" && user.state == .deleted && user.isGuest)
        let (realm, identity) = (visitor.realm, Identity(.external, "user\(number)"))
        #expect(try await stage.parley.read { try $0.user(of: identity, in: realm) } == nil)
      }
    }
  }

  /// A guest with a pending request counts as online, and a guest with a login can use it after a restart.
  @Test func guestsOfTheAppAreKeptWhileTheyAsk() async throws {
    let stage = try stage(guests: guestPolicy)
    let (visitor, login) = try await guest(stage)
    for _ in 0..<5 {
      stage.clock.set(stage.clock.now.milliseconds + 59_000)
      #expect(try await stage.accounts.caller(accessToken: login.accessToken).user == visitor)
      #expect(try await stage.accounts.sweepGuests() == 0)
    }
    var options = Parley.Options(domains: ["localhost", "verona.example"])
    options.guests = guestPolicy
    let again = Accounts(
      try Parley(
        store: stage.store, clock: stage.clock, options: options,
        logger: Logger(label: "again") { _ in SwiftLogNoOpLogHandler() }))
    #expect(try await again.removeGuests() == 0)
    #expect(again.parley.isGuest(visitor.id))
    stage.clock.set(stage.clock.now.milliseconds + 59_000)
    #expect(try await again.sweepGuests() == 0)
    #expect(try await again.refresh(login.refreshToken).user.isGuest)
    stage.clock.set(stage.clock.now.milliseconds + 60_000)
    #expect(try await again.sweepGuests() == 1)
    #expect(try await again.parley.read { try $0.user(visitor.id)?.state } == .deleted)
    // The guests of a server that takes no more guests are deleted.
    let (late, _) = try await guest(stage)
    options.guests = .none
    let closed = Accounts(
      try Parley(
        store: stage.store, clock: stage.clock, options: options,
        logger: Logger(label: "closed") { _ in SwiftLogNoOpLogHandler() }))
    #expect(try await closed.removeGuests() == 1)
    #expect(try await closed.parley.read { try $0.user(late.id)?.state } == .deleted)
    await again.parley.stop()
    await closed.parley.stop()
  }

  // MARK: App passwords

  @Test func aUserWithoutAPasswordHasAppPasswords() async throws {
    let stage = try stage()
    tokens.put("1", backend("romeo", nonce: try nonce(stage)))
    let user = try await logIn(stage, "1")
    let (password, text) = try await stage.accounts.makeAppPassword(for: user.id, name: "Old client")
    let (_, own, others) = try await stage.parley.read { try Accounts.allCredentials(of: user.address, $0) }
    #expect(own.count == SCRAMHash.allCases.count && own.allSatisfy { $0.isLocked && $0.isComplete })
    #expect(try await stage.parley.read { try !Accounts.hasPassword(user.id, $0) })
    for hash in SCRAMHash.allCases {
      let key = try #require(own.first { $0.hash == hash })
      let same = others.filter { $0.keys.hash == hash }
      #expect(same.map(\.password) == [password.id])
      #expect(SCRAMKeys.match(password: text, among: [key] + same.map(\.keys)) == 1)
      #expect(!key.verifies(password: "") && !key.verifies(password: text))
    }
    // An app password does not sign in to the app protocol.
    let attempt = LoginAttempt(of: user.address, from: "192.0.2.1", device: nil)
    #expect(await code { _ = try await stage.accounts.verify(attempt, password: text) } == "wrong-credentials")
    // A second one beside it, and both at once.
    _ = try await stage.accounts.makeAppPassword(for: user.id, name: "Another")
    let both = try await stage.parley.read { try Accounts.allCredentials(of: user.address, $0) }
    #expect(both.others.count == 2 * SCRAMHash.allCases.count && both.keys == own)
    try await stage.accounts.setPassword(of: user.id, "wherefore")
    #expect(try await stage.parley.read { try Accounts.hasPassword(user.id, $0) })
    #expect(try await stage.accounts.verify(attempt, password: "wherefore").id == user.id)
  }
}
