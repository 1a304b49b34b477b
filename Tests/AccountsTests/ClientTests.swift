import Addresses
import Basics
import DialogsFixtures
import Synchronization
import Testing

@testable import Accounts
@testable import Dialogs

/// XEP-0484: what becomes of a client's tokens.
@Suite struct ClientTests {
  private static let secret = TokenSecret([UInt8](repeating: 7, count: 32))
  private static let day: Int64 = 86_400_000

  private static func client(_ mechanism: String = "HT") -> (Client, String) {
    var client = Client(
      id: 1, user: UserID(1), agent: "a", software: nil, device: nil, source: .password,
      createdAt: Timestamp(milliseconds: 0), usedAt: Timestamp(milliseconds: 0))
    let token = client.offer(mechanism, now: Timestamp(milliseconds: 0))
    return (client, secret.token(token, of: client.user))
  }

  private static func use(
    _ token: String, count: Int64? = nil, invalidates: Bool = false, wanted: String? = nil, mechanism: String = "HT"
  ) -> Client.Use {
    Client.Use(mechanism: mechanism, count: count, invalidates: invalidates, wanted: wanted) { $0 == token }
  }

  private static func redeem(_ client: inout Client, _ use: Client.Use, at time: Int64 = 1) -> Client.Verdict {
    client.redeem(use, secret: secret, now: Timestamp(milliseconds: time))
  }

  @Test func aTokenIs256BitsOfTheSecret() {
    let (client, token) = Self.client()
    #expect(token.utf8.count == 43)
    let new = client.new
    #expect(new.map { TokenSecret([UInt8](repeating: 8, count: 32)).token($0, of: client.user) } != token)
    #expect(new.map { Self.secret.token($0, of: UserID(2)) } != token)
    #expect(new.map { Self.secret.token($0, of: client.user) } == token)
  }

  /// 3.5: until the new one is used the old one is good, and not any more after that.
  @Test func rotation() throws {
    var (client, first) = Self.client()
    #expect(Self.redeem(&client, Self.use(first)) == .accepted(first, offered: nil))
    #expect(client.new == nil)
    guard case .accepted(_, let offered?) = Self.redeem(&client, Self.use(first), at: Self.day + 1) else {
      Issue.record("a token of a day is not replaced")
      return
    }
    let second = Self.secret.token(offered, of: client.user)
    #expect(second != first)
    // The answer was lost: the old one again, and what was given out before is worth nothing.
    guard case .accepted(_, let again?) = Self.redeem(&client, Self.use(first), at: Self.day + 2) else {
      Issue.record("the old token is gone before the new one was used")
      return
    }
    #expect(Self.redeem(&client, Self.use(second), at: Self.day + 3) == .refused)
    let third = Self.secret.token(again, of: client.user)
    #expect(Self.redeem(&client, Self.use(third), at: Self.day + 4) == .accepted(third, offered: nil))
    #expect(Self.redeem(&client, Self.use(first), at: Self.day + 5) == .refused)
  }

  @Test func lifetime() {
    var (client, token) = Self.client()
    #expect(Self.redeem(&client, Self.use("no"), at: 30 * Self.day) == .refused)
    #expect(Self.redeem(&client, Self.use(token), at: 30 * Self.day) == .expired)
    guard case .accepted = Self.redeem(&client, Self.use(token), at: 30 * Self.day - 1) else {
      Issue.record("too early")
      return
    }
  }

  /// 3.4: bound to its mechanism.
  @Test func anotherMechanism() {
    var (client, token) = Self.client()
    #expect(Self.redeem(&client, Self.use(token, mechanism: "HT-B")) == .refused)
  }

  @Test func counts() {
    var (client, token) = Self.client()
    for (count, good) in [(5, true), (5, false), (4, false), (6, true)] as [(Int64, Bool)] {
      #expect((Self.redeem(&client, Self.use(token, count: count)) != .refused) == good, "\(count)")
    }
  }

  @Test func invalidation() {
    var (client, token) = Self.client()
    #expect(
      Self.redeem(&client, Self.use(token, invalidates: true), at: 2 * Self.day) == .accepted(token, offered: nil))
    #expect(!client.hasTokens)
    #expect(Self.redeem(&client, Self.use(token)) == .refused)
    var (other, its) = Self.client()
    guard case .accepted(_, _?) = Self.redeem(&other, Self.use(its, invalidates: true, wanted: "HT-B")) else {
      Issue.record("a token asked for is not given")
      return
    }
    #expect(other.current == nil)
    #expect(other.new?.mechanism == "HT-B")
  }

  // MARK: In the store

  private static let address: BareJID? = try? BareJID("juliet@localhost")

  private static func redeem(
    _ stage: Stage, _ use: Client.Use, agent: String = "a"
  ) async throws -> Accounts.Redemption {
    let address = try #require(Self.address)
    let lane = Lane { $0() }
    return try await withCheckedContinuation { continuation in
      stage.accounts.redeem(
        of: address, agent: ClientAgent(id: agent, software: nil, device: nil), use, on: lane
      ) { continuation.resume(returning: $0) }
    }.get()
  }

  private static func issue(
    _ stage: Stage, _ user: UserID, agent: String = "a", _ access: Access? = nil
  ) async throws -> Accounts.IssuedToken {
    var access = access ?? Access(.password, since: stage.clock.now)
    access.agent = ClientAgent(id: agent, software: "S", device: nil)
    let lane = Lane { $0() }
    return try await withCheckedContinuation { continuation in
      stage.accounts.issueToken(to: user, access, for: "HT", on: lane) { continuation.resume(returning: $0) }
    }.get().0
  }

  /// Several simultaneous logins with one count: one succeeds.
  @Test func aReplayAtTheSameMomentComesToNothing() async throws {
    let stage = try Stage()
    let user = try await stage.accounts.register(try #require(Self.address), password: "x", displayName: nil)
    let token = try await Self.issue(stage, user.id)
    let accepted = try await withThrowingTaskGroup(of: Bool.self) { group in
      for _ in 0..<8 {
        group.addTask {
          if case .accepted = try await Self.redeem(stage, Self.use(token.text, count: 1)) { true } else { false }
        }
      }
      return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(accepted == 1)
  }

  /// A login by a token writes only what must be known later.
  @Test func aTokenInUseCostsNoCommit() async throws {
    let stage = try Stage()
    let user = try await stage.accounts.register(try #require(Self.address), password: "x", displayName: nil)
    let token = try await Self.issue(stage, user.id)
    /// The commits of one use.
    func use(count: Int64? = nil) async throws -> Int {
      let before = stage.store.commits
      guard case .accepted = try await Self.redeem(stage, Self.use(token.text, count: count)) else {
        Issue.record("a good token is refused")
        return -1
      }
      return stage.store.commits - before
    }
    #expect(try await use() == 1, "the first use makes it the current one")
    #expect(try await use() == 0)
    #expect(try await use(count: 1) == 1, "a count must never be good again")
    #expect(try await use() == 0)
    let grain = AccountLimits.clientUseGrain.components.seconds * 1_000
    stage.clock.set(stage.clock.now.milliseconds + grain - 1)
    #expect(try await use() == 0)
    stage.clock.set(stage.clock.now.milliseconds + 1)
    #expect(try await use() == 1, "when it was used is known to the grain")
    #expect(try await use() == 0)
  }

  @Test func passwordsDisablingAndLogoutsEndTokens() async throws {
    let stage = try Stage()
    let user = try await stage.accounts.register(try #require(Self.address), password: "x", displayName: nil)
    func isGood(_ token: Accounts.IssuedToken) async throws -> Bool {
      if case .accepted = try await Self.redeem(stage, Self.use(token.text)) { true } else { false }
    }
    var token = try await Self.issue(stage, user.id)
    #expect(try await isGood(token))
    try await stage.accounts.setPassword(of: user.id, "y")
    #expect(try await !isGood(token))
    token = try await Self.issue(stage, user.id)
    try await stage.accounts.setState(of: user.id, .disabled)
    try await stage.accounts.setState(of: user.id, .active)
    #expect(try await !isGood(token))
    let login = try await stage.accounts.logIn(user, device: "phone", client: nil)
    token = try await Self.issue(stage, user.id, Access(.grant(login.grant.id), since: stage.clock.now))
    #expect(try await isGood(token))
    try await stage.accounts.logOut(grant: login.grant.id, of: user.id)
    #expect(try await !isGood(token))
    // A session of that login gets no token any more.
    await #expect(throws: Problem.self) {
      try await Self.issue(stage, user.id, Access(.grant(login.grant.id), since: stage.clock.now))
    }
  }

  /// If the password is changed during a login with the old one, the login gets neither a token nor a session.
  @Test func aLoginWithTheOldPasswordStaysOut() async throws {
    let stage = try Stage()
    let user = try await stage.accounts.register(try #require(Self.address), password: "x", displayName: nil)
    let salt = try await stage.accounts.credentials(of: user.address).keys[0].salt
    let access = Access(.password, since: stage.clock.now, salt: salt)
    _ = try await Self.issue(stage, user.id, access)
    try await stage.accounts.setPassword(of: user.id, "y")
    await #expect(throws: Problem.self) { try await Self.issue(stage, user.id, access) }
    let party = Party(id: user.id, realm: user.realm, address: user.address)
    var onlineSession = OnlineSession(session: RecordingSession(party), door: .xmpp, resource: "r")
    onlineSession.access = access
    do {
      try await stage.parley.post(.goOnline(onlineSession), by: party)
      Issue.record("a session by a password that is none any more")
    } catch {
      #expect(error.code == "access-revoked")
    }
  }

  @Test func atTheBoundTheLongestUnusedGoes() async throws {
    let stage = try Stage()
    let user = try await stage.accounts.register(try #require(Self.address), password: "x", displayName: nil)
    for number in 0..<AccountLimits.clientsPerUserMax {
      stage.clock.set(1_000 + Int64(number))
      _ = try await Self.issue(stage, user.id, agent: "agent\(number)")
    }
    // The first one is used once more.
    stage.clock.set(5_000)
    _ = try await Self.issue(stage, user.id, agent: "agent0")
    _ = try await Self.issue(stage, user.id, agent: "another")
    let agents = try await stage.parley.read { try $0.clients(of: user.id).map(\.agent) }
    #expect(agents.count == AccountLimits.clientsPerUserMax)
    #expect(agents.contains("agent0") && agents.contains("another") && !agents.contains("agent1"))
  }

  /// XEP-0494.
  @Test func theListIsWhatHasAccessAndRevokingEndsIt() async throws {
    let stage = try Stage()
    let user = try await stage.accounts.register(try #require(Self.address), password: "x", displayName: nil)
    let party = Party(id: user.id, realm: user.realm, address: user.address)
    let token = try await Self.issue(stage, user.id)
    let login = try await stage.accounts.logIn(user, device: "phone", client: "App")
    func session(_ resource: String, _ access: Access) async throws -> RecordingSession {
      let session = try await stage.session(party, resource)
      stage.parley.hub.update(session) { $0.access = access }
      return session
    }
    let agent = ClientAgent(id: "a", software: nil, device: nil)
    let now = stage.clock.now
    let byToken = try await session("token", Access(.password, agent: agent, client: 1, since: now))
    let byGrant = try await session("bearer", Access(.grant(login.grant.id), since: now))
    let byPassword = try await session("old", Access(.password, since: now))
    let list = try await stage.parley.read { try stage.accounts.accessors(of: user.id, $0) }
    #expect(list.map(\.isConnected) == [true, true, true])
    #expect(list.map(\.knowsPassword) == [true, false, true])
    func revoke(_ id: String) async throws -> Accounts.Revocation {
      let lane = Lane { $0() }
      return try await withCheckedContinuation { continuation in
        stage.accounts.revoke(id, by: byPassword, on: lane) { continuation.resume(returning: $0) }
      }.get()
    }
    for session in [byToken, byGrant, byPassword] { _ = session.taken() }
    #expect(try await revoke("nobody") == .unknown)
    #expect(try await revoke(list[0].id) == .passwordKnown)
    #expect(byToken.taken() == [.closed(.revoked)])
    #expect(byGrant.taken() == [])
    guard case .refused = try await Self.redeem(stage, Self.use(token.text)) else {
      Issue.record("the token of a revoked client is good")
      return
    }
    #expect(try await revoke(list[1].id) == .revoked)
    #expect(byGrant.taken() == [.closed(.revoked)])
    await #expect(throws: Problem.self) { try await stage.accounts.caller(accessToken: login.accessToken) }
    #expect(byPassword.taken() == [])
  }

  /// This holds even if its session ends before its request is judged.
  @Test(arguments: [true, false]) func anAppPasswordEndsNobodyElsesAccess(isThere: Bool) async throws {
    let stage = try Stage()
    let user = try await stage.accounts.register(try #require(Self.address), password: "x", displayName: nil)
    let party = Party(id: user.id, realm: user.realm, address: user.address)
    let (password, _) = try await stage.accounts.makeAppPassword(for: user.id, name: "one")
    _ = try await Self.issue(stage, user.id)
    let session = try await stage.session(party, "r")
    stage.parley.hub.update(session) { $0.access = Access(.appPassword(password.id), since: stage.clock.now) }
    let list = try await stage.parley.read { try stage.accounts.accessors(of: user.id, $0) }
    let other = try #require(list.first { if case .client = $0.kind { true } else { false } })
    if !isThere { stage.parley.hub.unregister(session, time: stage.clock.now) }
    let lane = Lane { $0() }
    let result = await withCheckedContinuation { continuation in
      stage.accounts.revoke(other.id, by: session, on: lane) { continuation.resume(returning: $0) }
    }
    #expect(throws: Problem.self) { try result.get() }
    #expect(try await stage.parley.read { try $0.clients(of: user.id) }.count == 1)
  }
}
