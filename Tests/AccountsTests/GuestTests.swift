import Accounts
import Addresses
import Basics
import Dialogs
import DialogsFixtures
import StoreConformance
import Testing

/// Guests: how many, what they may do, and that they go.
@Suite struct GuestTests {
  private func code(_ body: () async throws -> Void) async -> String? {
    do { try await body() } catch { return (error as? Problem)?.code }
    return nil
  }

  private func guest(_ stage: Stage, from network: String = "192.0.2.1") async throws -> Party {
    let user = try await stage.accounts.makeGuest(in: "localhost", from: network)
    return Party(id: user.id, realm: user.realm, address: user.address)
  }

  private func policy(_ rights: Set<GuestPolicy.Right> = [], max: Int = 100, perNetwork: Int = 20) -> GuestPolicy {
    GuestPolicy(domains: ["localhost"], guestsMax: max, perNetworkMax: perNetwork, rights: rights)
  }

  private func wait(_ stage: Stage, _ seconds: Int64) {
    stage.clock.set(stage.clock.now.milliseconds + seconds * 1_000)
  }

  @Test func theyComeWhereTheyAreTaken() async throws {
    #expect(await code { _ = try await guest(try Stage()) } == "guests-off")
    let stage = try Stage(guests: policy())
    let (one, other) = (try await guest(stage), try await guest(stage))
    #expect(
      one.name != other.name && one.name.count == 36 && one.name.split(separator: "-").map(\.count) == [8, 4, 4, 4, 12])
    #expect(stage.parley.isGuest(one.id))
    #expect(try await stage.parley.read { try $0.user(one.id) }?.isGuest == true)
    // Guests are in no list and no search of users.
    #expect(try await stage.parley.read { try $0.userCount(in: one.realm) } == 0)
    #expect(try await stage.parley.read { try $0.users(in: one.realm, matching: nil, after: nil, limit: 9) } == [])
    // A guest cannot set a password, either.
    let own = SessionID(1)
    #expect(await code { try await stage.accounts.setPassword(of: one.id, "secret", except: own) } == "guest-limited")
  }

  @Test func aGuestInvitesNobodyWhereUsersMay() async throws {
    let stage = try Stage(invitations: true, guests: policy())
    let one = try await guest(stage)
    let own = InviteDraft(realm: one.realm, kind: .contact, inviter: one)
    #expect(await code { _ = try await Invites(stage.parley).make(own, by: one) } == "invitations-off")
  }

  @Test func anOperatorMakesAUserOfAGuest() async throws {
    let stage = try Stage(guests: policy(max: 1))
    let one = try await guest(stage)
    try await stage.accounts.setPassword(of: one.id, "wherefore")
    #expect(!stage.parley.isGuest(one.id))
    #expect(try await stage.parley.read { try $0.user(one.id) }?.isGuest == false)
    _ = try await stage.accounts.verify(one.address, password: "wherefore")
    // The place is free, and nobody sweeps a user away.
    wait(stage, 86_400)
    #expect(try await stage.accounts.sweepGuests() == 0)
    _ = try await guest(stage)
  }

  /// Every guest takes one place, which is free again when the guest ends.
  @Test func boundedFromOneAddressAndInAll() async throws {
    let stage = try Stage(guests: policy(max: 3, perNetwork: 2))
    let first = try await guest(stage)
    _ = try await guest(stage)
    #expect(await code { _ = try await guest(stage) } == "too-many-guests")
    _ = try await guest(stage, from: "192.0.2.2")
    #expect(await code { _ = try await guest(stage, from: "192.0.2.3") } == "too-many-guests")
    try await stage.accounts.setState(of: first.id, .deleted)
    wait(stage, 60)
    #expect(try await stage.accounts.sweepGuests() == 3)
    for _ in 0..<2 { _ = try await guest(stage) }
    #expect(await code { _ = try await guest(stage) } == "too-many-guests")
  }

  @Test func manyAtTheSameMomentAreNotMore() async throws {
    let stage = try Stage(guests: policy(perNetwork: 5))
    let made = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<20 { group.addTask { await code { _ = try await guest(stage) } == nil } }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(made == 5)
    #expect(try await stage.parley.read { try $0.guests() }.count == 5)
  }

  /// A page that is reloaded again and again, without the places being full.
  @Test func comingAndGoingIsPaced() async throws {
    let stage = try Stage(guests: GuestPolicy(domains: ["localhost"], grace: .zero))
    for _ in 0..<50 {
      _ = try await guest(stage)
      try await stage.accounts.sweepGuests()
    }
    #expect(await code { _ = try await guest(stage) } == "requests-too-fast")
    // It is the guests' own bound, and another address's own.
    #expect(await code { _ = try await guest(stage, from: "192.0.2.2") } == nil)
  }

  @Test func theyGoWithTheirLastSessionAndWhatTheyWroteStays() async throws {
    let stage = try Stage(guests: policy())
    let romeo = try await stage.user("romeo")
    let room = try await stage.room(by: romeo, .open)
    let visitor = try await guest(stage)
    let session = try await stage.session(visitor, "web")
    try await stage.enter(room, session, "Visitor")
    try await stage.say("Is anybody there?", in: room, by: session)
    wait(stage, 600)
    #expect(try await stage.accounts.sweepGuests() == 0)
    stage.parley.hub.unregister(session, time: stage.clock.now)
    wait(stage, 59)
    #expect(try await stage.accounts.sweepGuests() == 0)
    wait(stage, 1)
    #expect(try await stage.accounts.sweepGuests() == 1)
    #expect(try await stage.accounts.sweepGuests() == 0)
    #expect(!stage.parley.isGuest(visitor.id))
    #expect(try await stage.parley.read { try $0.user(visitor.id) }?.state == .deleted)
    #expect(await code { _ = try await stage.session(visitor, "web") } == "account-disabled")
    let said = try await stage.parley.read {
      try $0.history(of: room.dialog, after: .zero, before: .end, limit: 10, ascending: true)
    }
    #expect(
      said.contains {
        if case .message(let message) = $0.fact { message.content.text == "Is anybody there?" } else { false }
      })
  }

  @Test func noGuestOfAnEarlierProcessIsLeft() async throws {
    let stage = try Stage(guests: policy())
    let romeo = try await stage.user("romeo")
    let visitor = try await guest(stage)
    #expect(try await stage.accounts.removeGuests() == 1)
    #expect(try await stage.parley.read { try $0.guests() } == [])
    #expect(try await stage.parley.read { try $0.user(visitor.id) }?.state == .deleted)
    #expect(try await stage.parley.read { try $0.user(romeo.id) }?.state == .active)
  }

  // MARK: Rights of guests

  @Test(arguments: [false, true]) func messages(allowed: Bool) async throws {
    let stage = try Stage(guests: policy(allowed ? [.messages] : []))
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let visitor = try await guest(stage)
    let refused = allowed ? nil : "guest-limited"
    #expect(await code { _ = try await stage.say("Buy!", from: visitor, to: romeo) } == refused)
    #expect(await code { try await stage.parley.post(.openDialog(romeo.address), by: visitor) } == refused)
    // A guest who was written to may answer, in that dialog only.
    _ = try await stage.say("May I help you?", from: juliet, to: visitor)
    #expect(await code { _ = try await stage.say("Yes", from: visitor, to: juliet) } == nil)
    _ = try await stage.say("To myself", from: visitor, to: visitor)
    let (session, there) = (try await stage.session(visitor, "web"), try await stage.session(romeo, "orchard"))
    func stanza(_ name: RelayedStanza.Name) -> Signal {
      .stanza(
        RelayedStanza(
          name: name, from: visitor, fromResource: "web", to: romeo.address, toResource: "orchard", id: "1", extras: [])
      )
    }
    for (name, passes) in [
      (RelayedStanza.Name.message(.headline), allowed), (.iq("get"), allowed), (.iq("result"), true),
    ] {
      let taken = stage.parley.hub.signal(
        stanza(name), from: session, party: visitor, to: .user(romeo.address, resource: "orchard"))
      #expect(taken == passes, "\(name)")
      #expect(there.taken() == (passes ? [.relayed(.direct)] : []))
    }
    stage.parley.hub.direct(
      Presence(from: visitor, resource: "web", availability: .online, time: stage.clock.now), of: session,
      to: romeo.address, resource: nil)
    #expect(there.taken().isEmpty != allowed)
  }

  /// Guests may be anybody: the users are not theirs to list, as they are not theirs to write to.
  @Test func theyFindWithWhomTheyShareADialog() async throws {
    let stage = try Stage(guests: policy())
    let (romeo, juliet, nurse) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("nurse")
    )
    let visitor = try await guest(stage)
    func finds(_ viewer: Party, _ user: Party) async throws -> Bool {
      let all = stage.parley.findsEverybody(viewer.id)
      return try await stage.parley.read { try all || $0.sharesDialog(viewer, with: user.id) }
    }
    for user in [romeo, juliet, nurse] {
      #expect(try await !finds(visitor, user))
      #expect(try await finds(user, visitor))
    }
    _ = try await stage.say("May I help you?", from: juliet, to: visitor)
    #expect(try await finds(visitor, juliet))
    #expect(try await !finds(visitor, romeo))
    let house = try await stage.room("house", by: romeo, .group, with: [(visitor, .member)])
    #expect(try await finds(visitor, romeo))
    #expect(try await !finds(visitor, nurse))
    // Several together are the same; whoever is on the list of a room without being a member shares nothing.
    func found() async throws -> Set<UserID> {
      let users = [romeo, juliet, nurse, visitor].map(\.id)
      return try await stage.parley.read { try $0.users(users, sharingDialogWith: visitor) }
    }
    #expect(try await found() == [romeo.id, juliet.id, visitor.id])
    try await stage.affiliate(nurse, .outcast, in: house, by: romeo)
    #expect(try await found() == [romeo.id, juliet.id, visitor.id])
    try await stage.affiliate(nurse, .member, in: house, by: romeo)
    #expect(try await found() == [romeo.id, juliet.id, nurse.id, visitor.id])
    #expect(try await stage.parley.read { try $0.memberships(of: nurse.id, listing: visitor.id) } == [house.dialog])
    #expect(try await stage.parley.read { try $0.memberships(of: nurse.id, listing: juliet.id) } == [])
    // Who may write to all may find them, and nobody's number or mail address.
    let other = try Stage(guests: policy([.messages]))
    let free = try await guest(other)
    #expect(other.parley.findsEverybody(free.id))
    #expect(await code { try other.accounts.paceMatch(for: free) } == "guest-limited")
  }

  /// A search by a whole number counts as matching one hash: otherwise it would go round that bound.
  @Test func aSearchByANumberIsAMatch() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    try stage.accounts.pace(.contactMatch(romeo.id), count: AccountLimits.matchRate.burst - 1)
    #expect(await code { try stage.accounts.paceMatch(for: romeo) } == nil)
    #expect(await code { try stage.accounts.paceMatch(for: romeo) } == "requests-too-fast")
  }

  @Test(arguments: [false, true]) func rooms(allowed: Bool) async throws {
    let stage = try Stage(guests: policy(allowed ? [.rooms, .memberships] : []))
    let romeo = try await stage.user("romeo")
    let (open, closed) = (
      try await stage.room("open", by: romeo, .open), try await stage.room("closed", by: romeo, .group)
    )
    let visitor = try await guest(stage)
    let session = try await stage.session(visitor, "web")
    try await stage.enter(open, session, "Visitor")
    #expect(await code { try await stage.enter(closed, session, "Visitor") } != nil)
    let refused = allowed ? nil : "guest-limited"
    #expect(await code { _ = try await stage.room("theirs", by: visitor, .open) } == refused)
    let empty = RoomReference.address(try BareJID("new@conference.localhost"))
    #expect(
      await code { try await stage.act(.enter(empty, stage.entering(session, "Visitor")), by: session) } == refused)
    let register = RoomIntent.register(.address(open.address), nick: "Visitor")
    #expect(await code { try await stage.act(register, by: session) } == refused)
    // The owner of a room may add a guest, like anybody.
    let draft = [MemberDraft(address: visitor.address, affiliation: .member)]
    try await stage.act(.members(.address(closed.address), draft), by: romeo)
    try await stage.enter(closed, session, "Visitor")
    #expect(
      await code {
        try await stage.act(.invite(.address(open.address), to: romeo.address, reason: nil), by: session)
      } == "guest-limited")
  }

  @Test func nothingThatOutlivesAVisit() async throws {
    let stage = try Stage(guests: policy(Set(GuestPolicy.Right.allCases)))
    let romeo = try await stage.user("romeo")
    let visitor = try await guest(stage)
    let intents: [Intent] = [
      .contact(address: romeo.address, name: nil, groups: []), .removeContact(romeo.address),
      .subscription(.subscribe, to: romeo.address, stanza: nil), .befriend(romeo.address, name: nil),
      .link(romeo.address, name: nil, groups: nil, mutual: true), .redeem(token: [1], from: romeo.address, stanza: nil),
      .profile(ProfileDraft(displayName: "Romeo")), .setPrivateXML([]),
      .block(
        [BlockPattern(JID(romeo.address))],
        reports: [
          ReportDraft(
            reported: BlockPattern(JID(romeo.address)), reason: "urn:xmpp:reporting:spam", text: "", messages: [])
        ]),
    ]
    for intent in intents {
      #expect(await code { try await stage.parley.post(intent, by: visitor) } == "guest-limited", "\(intent)")
    }
    try await stage.parley.post(.block([BlockPattern(JID(romeo.address))]), by: visitor)
    try await stage.parley.post(.unblock([]), by: visitor)
  }
}
