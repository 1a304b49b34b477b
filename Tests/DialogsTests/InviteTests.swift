import Accounts
import Addresses
import Basics
import Dialogs
import DialogsFixtures
import StoreConformance
import Testing

/// Invitations: who makes them, what they open, and that they open it once.
@Suite struct InviteTests {
  private func code(_ body: () async throws -> Void) async -> String? {
    do { try await body() } catch { return (error as? Problem)?.code }
    return nil
  }

  private func contact(_ stage: Stage, _ owner: UserID, _ address: BareJID) async throws -> Subscription.WireState? {
    try await stage.parley.read { try $0.contact(of: owner, address)?.subscription.wireState }
  }

  @Test func usersInviteTheirOwnContactsWhereTheyMayAndAdminsAlways() async throws {
    let admin = try BareJID("admin@localhost")
    for isOn in [false, true] {
      let stage = try Stage(admins: [admin], invitations: isOn)
      let (romeo, paris, boss) = (
        try await stage.user("romeo"), try await stage.user("paris"), try await stage.user("admin")
      )
      let own = InviteDraft(realm: romeo.realm, kind: .contact, inviter: romeo)
      #expect(
        await code { _ = try await Invites(stage.parley).make(own, by: romeo) } == (isOn ? nil : "invitations-off"))
      // A user makes no invite for another user, and none to an account with a given name.
      #expect(await code { _ = try await Invites(stage.parley).make(own, by: paris) } == "invitations-off")
      let account = InviteDraft(realm: romeo.realm, kind: .account, name: "mercutio")
      #expect(await code { _ = try await Invites(stage.parley).make(account, by: romeo) } == "invitations-off")
      #expect(await code { _ = try await Invites(stage.parley).make(account, by: boss) } == nil)
    }
  }

  @Test func anAccountComesOfItOnceAndTheInviterIsItsContact() async throws {
    let stage = try Stage(invitations: true)
    let romeo = try await stage.user("romeo")
    let new = try await Invites(stage.parley).make(
      InviteDraft(realm: romeo.realm, kind: .contact, inviter: romeo), by: romeo)
    #expect(new.token.utf8.count == 24)
    let open = try #require(try await Invites(stage.parley).find(token: new.token))
    #expect(open.state == .open && open.makesAccount && open.inviter?.id == romeo.id)
    #expect(try await Invites(stage.parley).find(token: new.token + "x") == nil)

    // A name that is taken does not use it up.
    let taken = await code {
      _ = try await stage.accounts.register(romeo.address, password: "x", displayName: nil, invite: open.invite)
    }
    #expect(taken == "name-taken")
    #expect(try await Invites(stage.parley).find(token: new.token)?.state == .open)

    // Account, use and contact are one transaction: of a commit that fails nothing is left.
    let name = try BareJID("juliet@localhost")
    let commits = stage.store.commits
    stage.store.failNext(1)
    let failed = await code {
      _ = try await stage.accounts.register(name, password: "x", displayName: nil, invite: open.invite)
    }
    #expect(failed == "storage-failed" && stage.store.commits == commits)
    #expect(try await stage.parley.read { try $0.user(name) } == nil)
    #expect(try await contact(stage, romeo.id, name) == nil)
    #expect(try await Invites(stage.parley).find(token: new.token)?.state == .open)

    let juliet = try await stage.accounts.register(name, password: "x", displayName: nil, invite: open.invite)
    #expect(stage.store.commits == commits + 1)
    #expect(try await contact(stage, romeo.id, juliet.address) == .mutual)
    #expect(try await contact(stage, juliet.id, romeo.address) == .mutual)
    #expect(try await Invites(stage.parley).find(token: new.token)?.state == .used)
    let again = await code {
      _ = try await stage.accounts.register(
        try BareJID("paris@localhost"), password: "x", displayName: nil, invite: open.invite)
    }
    #expect(again == "invitation-unknown")
    #expect(try await stage.parley.read { try $0.user(try BareJID("paris@localhost")) } == nil)
  }

  @Test func oneOfManyConcurrentRegistrationsSucceeds() async throws {
    let stage = try Stage()
    let realm = stage.parley.realms[0].id
    let invite = try await Invites(stage.parley).make(InviteDraft(realm: realm, kind: .account), by: nil).invite
    let made = await withTaskGroup(of: Bool.self) { group in
      for number in 0..<8 {
        group.addTask {
          await code {
            _ = try await stage.accounts.register(
              try BareJID("guest\(number)@localhost"), password: "x", displayName: nil, invite: invite)
          } == nil
        }
      }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(made == 1)
    #expect(try await stage.parley.read { try $0.userCount(in: realm) } == 1)
  }

  @Test func aNameIsReservedUntilTheInvitationIsOver() async throws {
    let stage = try Stage()
    let realm = stage.parley.realms[0].id
    let juliet = try BareJID("juliet@localhost")
    let new = try await Invites(stage.parley).make(
      InviteDraft(realm: realm, kind: .account, name: "Juliet"), by: nil)
    #expect(new.invite.name == "juliet")
    let other = try await Invites(stage.parley).make(InviteDraft(realm: realm, kind: .account), by: nil).invite
    #expect(
      await code { _ = try await stage.accounts.register(juliet, password: "x", displayName: nil) } == "name-taken")
    #expect(
      await code { _ = try await stage.accounts.register(juliet, password: "x", displayName: nil, invite: other) }
        == "name-taken")
    #expect(
      await code {
        _ = try await Invites(stage.parley).make(InviteDraft(realm: realm, kind: .account, name: "juliet"), by: nil)
      } == "name-taken")
    #expect(
      await code {
        let paris = try BareJID("paris@localhost")
        _ = try await stage.accounts.register(paris, password: "x", displayName: nil, invite: new.invite)
      } == "name-fixed")

    // A registration that began before the end may still finish; others find the invite expired. Then the name is free.
    stage.clock.set(new.invite.expires.milliseconds)
    #expect(try await Invites(stage.parley).find(token: new.token)?.state == .expired)
    #expect(
      await code { _ = try await stage.accounts.register(juliet, password: "x", displayName: nil) } == "name-taken")
    stage.clock.set(new.invite.expires.milliseconds + 3_600_001)
    #expect(await code { _ = try await stage.accounts.register(juliet, password: "x", displayName: nil) } == nil)
  }

  @Test func anExpiredInvitationServesWhoWasLetIn() async throws {
    let stage = try Stage()
    let realm = stage.parley.realms[0].id
    let new = try await Invites(stage.parley).make(
      InviteDraft(realm: realm, kind: .account, name: "juliet"), by: nil)
    stage.clock.set(new.invite.expires.milliseconds + 60_000)
    let user = try await stage.accounts.register(
      try BareJID("juliet@localhost"), password: "x", displayName: nil, invite: new.invite)
    #expect(user.name == "juliet")
  }

  @Test func aUserHasSoManyAndThenNoMore() async throws {
    let stage = try Stage(invitations: true)
    let romeo = try await stage.user("romeo")
    let draft = InviteDraft(realm: romeo.realm, kind: .contact, inviter: romeo)
    for _ in 0..<Limits.invitesPerUserMax { _ = try await Invites(stage.parley).make(draft, by: romeo) }
    #expect(await code { _ = try await Invites(stage.parley).make(draft, by: romeo) } == "too-many-invitations")
    let first = try #require(try await Invites(stage.parley).all(in: romeo.realm).first)
    try await Invites(stage.parley).revoke(first.id)
    #expect(await code { try await Invites(stage.parley).revoke(first.id) } == "invitation-unknown")
    #expect(await code { _ = try await Invites(stage.parley).make(draft, by: romeo) } == nil)
    stage.clock.set(stage.clock.now.milliseconds + 7 * 86_400_000 + 3_600_001)
    #expect(await code { _ = try await Invites(stage.parley).make(draft, by: romeo) } == nil)
    #expect(try await stage.parley.read { try $0.inviteCount(by: romeo.id, in: romeo.realm) } == 1)
  }

  /// Whoever comes by another user's invitation, or registers, invites nobody for a day: an invitation is one account, and not
  /// a tree of them. Those whom an operator creates or invites may.
  @Test func aNewAccountInvitesNobodyOnItsFirstDay() async throws {
    let stage = try Stage(invitations: true)
    let (romeo, invites) = (try await stage.user("romeo"), Invites(stage.parley))
    func own(_ user: User) -> (draft: InviteDraft, party: Party) {
      let party = Party(id: user.id, realm: user.realm, address: user.address)
      return (InviteDraft(realm: user.realm, kind: .contact, inviter: party), party)
    }
    func invite(_ user: User) async -> String? {
      let one = own(user)
      return await code { _ = try await invites.make(one.draft, by: one.party) }
    }
    func register(_ name: String, _ invite: Invite?) async throws -> User {
      try await stage.accounts.register(
        try BareJID("\(name)@localhost"), password: "x", displayName: nil, invite: invite)
    }
    let byUser = try await invites.make(InviteDraft(realm: romeo.realm, kind: .contact, inviter: romeo), by: romeo)
    let byOperator = try await invites.make(InviteDraft(realm: romeo.realm, kind: .account), by: nil)
    let invited = try await register("juliet", byUser.invite)
    let registered = try await register("paris", nil)
    let pupil = try await register("nurse", byOperator.invite)
    let row = Accounts.NewUser(address: try BareJID("tybalt@localhost"), password: "x", displayName: nil)
    let created = try await stage.accounts.importUsers([row], byOperator: true)[0].get()
    for user in [invited, registered] { #expect(await invite(user) == "invitations-too-new") }
    for user in [pupil, created] { #expect(await invite(user) == nil) }
    stage.clock.set(stage.clock.now.milliseconds + 86_399_000)
    let late = own(invited)
    let problem = await #expect(throws: Problem.self) { try await invites.make(late.draft, by: late.party) }
    #expect(problem?.kind == .tooFast && problem?.retryAfter == 1)
    stage.clock.set(stage.clock.now.milliseconds + 1_000)
    for user in [invited, registered] { #expect(await invite(user) == nil) }
  }

  @Test func aDeletedUserInvitesNobody() async throws {
    let stage = try Stage(invitations: true)
    let romeo = try await stage.user("romeo")
    let new = try await Invites(stage.parley).make(
      InviteDraft(realm: romeo.realm, kind: .contact, inviter: romeo), by: romeo)
    try await stage.accounts.setState(of: romeo.id, .disabled)
    #expect(try await Invites(stage.parley).find(token: new.token) == nil)
    #expect(
      await code {
        let paris = try BareJID("paris@localhost")
        _ = try await stage.accounts.register(paris, password: "x", displayName: nil, invite: new.invite)
      } == "invitation-unknown")
    try await stage.accounts.setState(of: romeo.id, .active)
    #expect(try await Invites(stage.parley).find(token: new.token)?.state == .open)
    try await stage.accounts.setState(of: romeo.id, .deleted)
    #expect(try await stage.parley.read { try $0.inviteCount(by: romeo.id, in: romeo.realm) } == 0)
  }

  // MARK: XEP-0379

  @Test func aTokenMakesContactsOnceAndKeepsGroups() async throws {
    let stage = try Stage(invitations: true)
    let (romeo, juliet, paris) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("paris")
    )
    let new = try await Invites(stage.parley).make(
      InviteDraft(realm: romeo.realm, kind: .contact, inviter: romeo), by: romeo)
    func redeem(_ guest: Party, _ token: String, _ address: BareJID = romeo.address) async throws {
      try await stage.parley.post(
        .redeem(token: Invites.hash(ofToken: token), from: address, stanza: nil), by: guest)
    }
    try await stage.parley.post(.contact(address: romeo.address, name: "R", groups: ["Verona"]), by: juliet)
    // A token that is none, and one of somebody else's: requests like others.
    try await redeem(juliet, "nonsense")
    #expect(try await contact(stage, romeo.id, juliet.address) == .pendingIn)
    try await redeem(juliet, new.token, paris.address)
    #expect(try await contact(stage, paris.id, juliet.address) == .pendingIn)
    #expect(try await Invites(stage.parley).find(token: new.token)?.state == .open)

    try await redeem(juliet, new.token)
    #expect(try await contact(stage, romeo.id, juliet.address) == .mutual)
    let item = try #require(try await stage.parley.read { try $0.contact(of: juliet.id, romeo.address) })
    #expect(item.subscription.wireState == .mutual && item.name == "R" && item.groups == ["Verona"])
    #expect(try await Invites(stage.parley).find(token: new.token)?.state == .used)
    try await redeem(paris, new.token)
    #expect(try await contact(stage, romeo.id, paris.address) == .pendingIn)
  }

  @Test func aBlockedUserDoesNotGetInByAToken() async throws {
    let stage = try Stage(invitations: true)
    let (romeo, paris) = (try await stage.user("romeo"), try await stage.user("paris"))
    let new = try await Invites(stage.parley).make(
      InviteDraft(realm: romeo.realm, kind: .contact, inviter: romeo), by: romeo)
    try await stage.parley.post(.block([BlockPattern(JID(paris.address))]), by: romeo)
    try await stage.parley.post(
      .redeem(token: Invites.hash(ofToken: new.token), from: romeo.address, stanza: nil), by: paris)
    #expect(try await contact(stage, romeo.id, paris.address) == nil)
    #expect(try await Invites(stage.parley).find(token: new.token)?.state == .open)
  }

  // MARK: Passwords and the end

  @Test func theAskingSessionStaysWhenThePasswordChanges() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let (here, there) = (try await stage.session(romeo, "a"), try await stage.session(romeo, "b"))
    _ = (here.taken(), there.taken())
    try await stage.accounts.setPassword(of: romeo.id, "new", except: here.id)
    #expect(!here.taken().contains(.closed(.passwordChanged)))
    #expect(there.taken().contains(.closed(.passwordChanged)))
  }
}

/// XEP-0377.
@Suite struct ReportTests {
  private func draft(_ reported: Party, messages: [String] = []) -> ReportDraft {
    ReportDraft(
      reported: BlockPattern(JID(reported.address)), reason: "urn:xmpp:reporting:spam", text: "No!", messages: messages)
  }

  @Test func aReportComesWithItsBlockAndQuotesWhatWasSaidToTheReporter() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("paris")
    )
    _ = try await stage.say("Buy my daggers", from: paris, to: juliet)
    let mine = try #require(try await stage.parley.read { try $0.feed(of: juliet.id, after: .zero, limit: 10) }.last)
    _ = try await stage.say("A secret", from: paris, to: romeo)
    let theirs = try #require(try await stage.parley.read { try $0.feed(of: romeo.id, after: .zero, limit: 10) }.last)
    let report = draft(paris, messages: ["\(mine.id)", "\(theirs.id)", "nonsense"])
    let receipt = try await stage.parley.post(.block([report.reported], reports: [report]), by: juliet)
    let kept = try #require((receipt.value as? [Report])?.first)
    #expect(kept.messages.map(\.text) == ["Buy my daggers", nil, nil])
    #expect(try await stage.parley.read { try $0.blocks(of: juliet.id) } == [report.reported])
    #expect(try await Reports(stage.parley).all(in: juliet.realm) == [kept])
    try await Reports(stage.parley).dismiss(kept.id)
    #expect(try await Reports(stage.parley).all(in: juliet.realm) == [])
  }

  @Test func theTextAndQuotesOfAReportAreBounded() async throws {
    let stage = try Stage()
    let (juliet, paris) = (try await stage.user("juliet"), try await stage.user("paris"))
    // The text is one character to a reader.
    let long = "a" + String(repeating: "\u{301}", count: Limits.reportCharactersMax)
    _ = try await stage.say(long, from: paris, to: juliet)
    let said = try #require(try await stage.parley.read { try $0.feed(of: juliet.id, after: .zero, limit: 10) }.last)
    var report = draft(paris, messages: ["\(said.id)"])
    report.text = long
    let receipt = try await stage.parley.post(.block([report.reported], reports: [report]), by: juliet)
    let kept = try #require((receipt.value as? [Report])?.first)
    #expect(kept.text.unicodeScalars.count == Limits.reportCharactersMax)
    #expect(kept.messages.first?.text?.unicodeScalars.count == Limits.reportCharactersMax)
  }

  @Test func aReportTooManyIsLeftOutAndTheBlockStands() async throws {
    let stage = try Stage()
    let (juliet, paris) = (try await stage.user("juliet"), try await stage.user("paris"))
    let report = draft(paris)
    let many = [ReportDraft](repeating: report, count: Limits.reportsPerDayMax + 1)
    try await stage.parley.post(.block([report.reported], reports: many), by: juliet)
    #expect(try await Reports(stage.parley).all(in: juliet.realm).count == Limits.reportsPerDayMax)
    try await stage.parley.post(.unblock([]), by: juliet)
    let receipt = try await stage.parley.post(.block([report.reported], reports: [report]), by: juliet)
    #expect((receipt.value as? [Report]) == [])
    #expect(try await stage.parley.read { try $0.blocks(of: juliet.id) } == [report.reported])
    stage.clock.set(stage.clock.now.milliseconds + 86_400_001)
    try await stage.parley.post(.block([report.reported], reports: [report]), by: juliet)
    #expect(try await Reports(stage.parley).all(in: juliet.realm).count == Limits.reportsPerDayMax + 1)
  }
}
