import Addresses
import Basics
import DialogsFixtures
import StoreConformance
import Testing

@testable import Accounts
@testable import Dialogs

/// Passwords and tokens.
@Suite struct AccountTests {
  @Test func aPasswordIsVerifiedAndAnUnknownUserLooksLikeAWrongPassword() async throws {
    let stage = try Stage()
    let juliet = try BareJID("juliet@localhost")
    _ = try await stage.accounts.register(juliet, password: "r0m30", displayName: "Juliet")
    #expect(try await stage.accounts.verify(juliet, password: "r0m30").address == juliet)
    for (address, password) in [(juliet, "R0m30"), (try BareJID("nobody@localhost"), "r0m30")] {
      do {
        _ = try await stage.accounts.verify(address, password: password)
        Issue.record("a wrong password was accepted")
      } catch {
        #expect(error.code == "wrong-credentials")
      }
    }
  }

  @Test func aNameIsGivenOutOnce() async throws {
    let stage = try Stage()
    let juliet = try BareJID("juliet@localhost")
    let user = try await stage.accounts.register(juliet, password: "x", displayName: nil)
    try await stage.accounts.setState(of: user.id, .deleted)
    do {
      _ = try await stage.accounts.register(juliet, password: "x", displayName: nil)
      Issue.record("a deleted user's name was given out again")
    } catch {
      #expect(error.code == "name-taken")
    }
  }

  /// A failed commit is like a crash at that moment, since nothing is written.
  @Test(arguments: 0..<9) func whereverADeletionBreaksOffTheNextOneEndsIt(commits: Int) async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    try await stage.parley.post(.link(juliet.address, name: nil, groups: nil, mutual: true), by: romeo)
    try await stage.parley.post(
      .push(.enable(service: try JID("push.localhost"), node: "a", options: nil, resource: "r")), by: romeo)
    stage.store.failNext(1, after: commits)
    try? await stage.accounts.setState(of: romeo.id, .deleted)
    stage.store.failNext(0)
    do {
      try await stage.accounts.setState(of: romeo.id, .deleted)
    } catch {
      #expect(error.code == "user-unknown")
    }
    // What is left of a user who is deleted already is removed by the task.
    try await stage.accounts.resumeAccountTasks()
    try await stage.parley.read { (reader) throws in
      #expect(try reader.user(romeo.id)?.state == .deleted)
      #expect(try reader.contacts(of: romeo.id) == [])
      #expect(try reader.contact(of: juliet.id, romeo.address)?.subscription.isInRoster != true)
      #expect(try reader.member(romeo.id, of: room.dialog)?.affiliation.isMember != true)
      #expect(try reader.member(juliet.id, of: room.dialog)?.affiliation == .owner)
      #expect(try reader.pushRegistrations(of: romeo.id) == [])
    }
    #expect(!stage.parley.registries.pushes.has(romeo.id))
  }

  @Test func aRefreshTokenWorksOnceAndItsReuseEndsTheLogin() async throws {
    let stage = try Stage()
    let user = try await stage.accounts.register(try BareJID("juliet@localhost"), password: "x", displayName: nil)
    let login = try await stage.accounts.logIn(user, device: nil, client: nil)
    #expect(try await stage.accounts.caller(accessToken: login.accessToken).user.id == user.id)
    let next = try await stage.accounts.refresh(login.refreshToken)
    await #expect(throws: Problem.self) { try await stage.accounts.caller(accessToken: login.accessToken) }
    #expect(try await stage.accounts.caller(accessToken: next.accessToken).grant == login.grant.id)
    await #expect(throws: Problem.self) { try await stage.accounts.refresh(login.refreshToken) }
    await #expect(throws: Problem.self) { try await stage.accounts.caller(accessToken: next.accessToken) }
  }

  /// The answer to a refresh may be lost: then it is given again, until one of its tokens is used.
  @Test func aLostRefreshIsAnsweredAgain() async throws {
    let stage = try Stage()
    let user = try await stage.accounts.register(try BareJID("juliet@localhost"), password: "x", displayName: nil)
    let login = try await stage.accounts.logIn(user, device: nil, client: nil)
    let lost = try await stage.accounts.refresh(login.refreshToken)
    stage.clock.set(stage.clock.now.milliseconds + 599_999)
    let again = try await stage.accounts.refresh(login.refreshToken)
    #expect(again.grant == lost.grant)
    #expect(again.accessToken == lost.accessToken && again.refreshToken == lost.refreshToken)
    #expect(try await stage.accounts.grants(of: user.id) == [lost.grant])
    // The first use ends this, also after a restart, and whoever repeats the spent token now has a copy of it.
    #expect(try await stage.accounts.caller(accessToken: again.accessToken).grant == login.grant.id)
    var options = Accounts.Options()
    options.accountSecret = stage.accounts.options.accountSecret
    let restarted = Accounts(stage.parley, options)
    await #expect(throws: Problem.self) { try await restarted.refresh(login.refreshToken) }
    #expect(try await stage.accounts.grants(of: user.id) == [])
  }

  /// Later it is no lost answer any more.
  @Test func aRefreshIsNotRepeatedForLong() async throws {
    let stage = try Stage()
    let user = try await stage.accounts.register(try BareJID("juliet@localhost"), password: "x", displayName: nil)
    let login = try await stage.accounts.logIn(user, device: nil, client: nil)
    let lost = try await stage.accounts.refresh(login.refreshToken)
    stage.clock.set(stage.clock.now.milliseconds + 600_000)
    await #expect(throws: Problem.self) { try await stage.accounts.refresh(login.refreshToken) }
    await #expect(throws: Problem.self) { try await stage.accounts.refresh(lost.refreshToken) }
    #expect(try await stage.accounts.grants(of: user.id) == [])
  }

  @Test func anAccessTokenExpires() async throws {
    let stage = try Stage()
    let user = try await stage.accounts.register(try BareJID("juliet@localhost"), password: "x", displayName: nil)
    let login = try await stage.accounts.logIn(user, device: "phone", client: nil)
    _ = try await stage.accounts.caller(accessToken: login.accessToken)
    stage.clock.set(stage.clock.now.milliseconds + 3_600_001)
    do {
      _ = try await stage.accounts.caller(accessToken: login.accessToken)
      Issue.record("an expired token was accepted")
    } catch {
      #expect(error.code == "token-expired")
    }
  }

  @Test func aTokenThatEndsWhileItIsLookedUpIsNotGoodFromMemory() async throws {
    let stage = try Stage()
    let user = try await stage.accounts.register(try BareJID("juliet@localhost"), password: "x", displayName: nil)
    let login = try await stage.accounts.logIn(user, device: "phone", client: nil)
    stage.store.afterNextRead { blocking { try await stage.accounts.logOut(grant: login.grant.id, of: user.id) } }
    // The answer to this one may be either.
    _ = try? await stage.accounts.caller(accessToken: login.accessToken)
    await #expect(throws: Problem.self) { try await stage.accounts.caller(accessToken: login.accessToken) }
  }

  /// The user is shut out between the check of the password and the login.
  @Test(arguments: [true, false]) func aUserWhoIsDisabledWhileLoggingInStaysOut(isPassword: Bool) async throws {
    let stage = try Stage()
    let juliet = try BareJID("juliet@localhost")
    let user = try await stage.accounts.register(juliet, password: "x", displayName: nil)
    stage.store.afterNextRead {
      blocking {
        if isPassword {
          try await stage.accounts.setPassword(of: user.id, "y")
        } else {
          try await stage.accounts.setState(of: user.id, .disabled)
        }
      }
    }
    let attempt = LoginAttempt(of: juliet, from: "192.0.2.1", device: nil)
    await #expect(throws: Problem.self) {
      try await stage.accounts.logIn(attempt, password: "x", device: nil, client: nil)
    }
    #expect(try await stage.accounts.grants(of: user.id) == [])
  }

  @Test func loggingOutEndsTheDevicesSession() async throws {
    let stage = try Stage()
    let user = try await stage.accounts.register(try BareJID("juliet@localhost"), password: "x", displayName: nil)
    let party = Party(id: user.id, realm: user.realm, address: user.address)
    let login = try await stage.accounts.logIn(user, device: "phone", client: nil)
    let other = try await stage.accounts.logIn(user, device: "tablet", client: nil)
    func goOnline(_ login: Accounts.Login) async throws -> RecordingSession {
      let caller = try await stage.accounts.caller(accessToken: login.accessToken)
      let session = RecordingSession(party)
      var onlineSession = OnlineSession(session: session, door: .app, resource: "app-\(caller.device)")
      onlineSession.access = caller.access(since: stage.clock.now)
      try await stage.parley.post(.goOnline(onlineSession), by: party)
      _ = session.taken()
      return session
    }
    let (here, there) = (try await goOnline(login), try await goOnline(other))
    let caller = try await stage.accounts.caller(accessToken: login.accessToken)
    try await stage.accounts.logOut(grant: login.grant.id, of: user.id)
    #expect(here.taken() == [.closed(.revoked)])
    #expect(there.taken() == [])
    // Nobody slips in behind, who was known before.
    var late = OnlineSession(session: RecordingSession(party), door: .app, resource: "app-phone")
    late.access = caller.access(since: stage.clock.now)
    let refusal = await #expect(throws: Problem.self) { try await stage.parley.post(.goOnline(late), by: party) }
    #expect(refusal?.kind == .unauthenticated)
    // Another login of the same device takes the place of the one before.
    _ = try await stage.accounts.logIn(user, device: "tablet", client: nil)
    #expect(there.taken() == [.closed(.revoked)])
  }

  @Test func appPasswordsFitBesideTheAccountsAndEndWithIt() async throws {
    let stage = try Stage()
    let juliet = try BareJID("juliet@localhost")
    let user = try await stage.accounts.register(juliet, password: "own", displayName: nil)
    let (one, text) = try await stage.accounts.makeAppPassword(for: user.id, name: "one")
    let (two, other) = try await stage.accounts.makeAppPassword(for: user.id, name: "two")
    #expect(text != other)
    #expect(text.utf8.count == 29)
    func match(_ password: String) async throws -> [Int64?] {
      let (_, own, others) = try await stage.parley.read { try Accounts.allCredentials(of: juliet, $0) }
      return own.map { key in
        let same = others.filter { $0.keys.hash == key.hash }
        return SCRAMKeys.match(password: password, among: [key] + same.map(\.keys)).map {
          $0 > 0 ? same[$0 - 1].password : 0
        }
      }
    }
    #expect(try await match("own") == [0, 0, 0])
    #expect(try await match(text) == [one.id, one.id, one.id])
    #expect(try await match(other) == [two.id, two.id, two.id])
    #expect(try await match("no") == [nil, nil, nil])
    // An app password is not valid for the app protocol.
    await #expect(throws: Problem.self) { try await stage.accounts.verify(juliet, password: text) }
    try await stage.accounts.removeAppPassword(one.id, of: user.id)
    #expect(try await match(text) == [nil, nil, nil])
    #expect(try await match(other) == [two.id, two.id, two.id])
    try await stage.accounts.setPassword(of: user.id, "own")
    #expect(try await match(other) == [nil, nil, nil])
    #expect(try await stage.accounts.appPasswords(of: user.id) == [])
  }

  @Test func loginsLeaveWhatTheCommitterKnowsOfPeople() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    _ = try await stage.say("one", from: romeo, to: juliet)
    // Behind its back: it must not look again.
    try stage.store.write {
      try $0.insert(RankedBlock(rank: 0, pattern: BlockPattern(JID(romeo.address))), of: juliet.id)
    }
    let user = try #require(try await stage.parley.read { try $0.user(juliet.id) })
    let login = try await stage.accounts.logIn(user, device: nil, client: nil)
    _ = try await stage.accounts.refresh(login.refreshToken)
    try await stage.accounts.logOut(grant: login.grant.id, of: juliet.id)
    stage.accounts.noteUse(ofAppPassword: 1, of: juliet.address)
    try await MessageIndex(stage.parley).update()
    _ = try await stage.say("two", from: romeo, to: juliet)
    // Other work may have changed anything.
    _ = try await stage.parley.work { _ in true }
    await #expect(throws: Problem.self) { try await stage.say("three", from: romeo, to: juliet) }
  }

  @Test func appPasswordsAreBounded() async throws {
    let stage = try Stage()
    let user = try await stage.accounts.register(try BareJID("juliet@localhost"), password: "own", displayName: nil)
    for number in 0..<AccountLimits.appPasswordsPerUserMax {
      _ = try await stage.accounts.makeAppPassword(for: user.id, name: "\(number)")
    }
    for (name, code) in [("more", "too-many-app-passwords"), ("3", "name-taken"), ("", "name-empty")] {
      do {
        _ = try await stage.accounts.makeAppPassword(for: user.id, name: name)
        Issue.record("\(name) was made")
      } catch {
        #expect(error.code == code)
      }
    }
  }

  @Test func noPasswordIsStored() async throws {
    let stage = try Stage()
    let user = try await stage.accounts.register(
      try BareJID("juliet@localhost"), password: "correct horse battery", displayName: nil)
    let keys = try await stage.parley.read { try $0.credentials(of: user.id) }
    #expect(keys.count == 3)
    #expect(Set(keys.map(\.salt)).count == 3)
  }

  /// Whoever has stored as much as one may in a day holds up nobody's deletion.
  @Test func aContactAtTheBoundOfTheDayHoldsUpNoDeletion() async throws {
    var policy = SendingPolicy()
    policy.dayBytes = 1_000
    let stage = try Stage(sending: policy)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    try await stage.parley.post(.link(juliet.address, name: nil, groups: nil, mutual: true), by: romeo)
    let pattern = BlockPattern(JID(try BareJID("paris@localhost")))
    var code: String?
    for _ in 0..<20 {
      for intent in [Intent.block([pattern]), .unblock([pattern])] {
        do throws(Problem) { try await stage.parley.post(intent, by: juliet) } catch { code = error.code }
      }
    }
    #expect(code == "messages-day-quota")
    try await stage.accounts.setState(of: romeo.id, .deleted)
    try await stage.parley.read { (reader) throws in
      #expect(try reader.user(romeo.id)?.state == .deleted)
      #expect(try reader.contact(of: juliet.id, romeo.address)?.subscription.isInRoster != true)
    }
  }

  /// Names that users choose are of one script (UTS #39, 5.2), and look like no reserved one. Operators create any.
  @Test func namesThatLookLikeOthersAreNotChosen() async throws {
    let alice = try BareJID("alice@localhost")
    let stage = try Stage(admins: [alice])
    func refusal(_ name: String) async throws -> String? {
      let address = try BareJID("\(name)@localhost")
      do throws(Problem) {
        _ = try await stage.accounts.register(address, password: "x", displayName: nil)
        return nil
      } catch { return error.code }
    }
    // A Cyrillic letter among Latin ones; a digit one, refused as if it were taken; all letters Cyrillic.
    for (name, code) in [
      ("\u{430}lice", "username-mixed"), ("rom\u{435}o", "username-mixed"), ("a1ice", "name-taken"),
      ("alicia", nil), ("\u{43C}\u{430}\u{448}\u{430}", nil), ("\u{6F22}dj", nil), ("r2-d2_x", nil),
    ] as [(String, String?)] {
      #expect(try await refusal(name) == code, "\(name)")
    }
    let invited = try BareJID("rom\u{435}o@localhost")
    let draft = InviteDraft(realm: stage.parley.realms[0].id, kind: .account, name: invited.local)
    let invite = try await Invites(stage.parley).make(draft, by: nil).invite
    _ = try await stage.accounts.register(invited, password: "x", displayName: nil, invite: invite)
    let row = Accounts.NewUser(address: try BareJID("\u{430}lice@localhost"), password: "x", displayName: nil)
    #expect(try await stage.accounts.importUsers([row], byOperator: true)[0].get().address == row.address)
  }
}
