import Accounts
import Addresses
import Dialogs
import DialogsFixtures
import StoreConformance
import Testing

/// Tests of the members of a room, their nicknames, and what others may do to them.
@Suite struct RoomPeopleTests {
  // MARK: Affiliations

  @Test func anAddedMemberIsToldAndFollowsARemovedOneIsToldAndFollowsNoMore() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo)
    let orchard = try await stage.seats(room, romeo)[0]
    let phone = try await stage.session(juliet, "phone", door: .app)
    try await stage.affiliate(juliet, .member, in: room, by: romeo)
    let joined = MemberChange(party: juliet, was: .none, now: .member, nick: "juliet", reason: nil)
    #expect(phone.effects() == [.noted(.member(joined)), .invited(room.address.description)])
    // A user whose app is connected is an occupant, and is shown as one once.
    #expect(orchard.effects() == [.noted(.member(joined)), .occupant("juliet", .participant, codes: [], .roomOpen)])
    try await stage.say("hi", in: room, by: orchard)
    #expect(phone.effects() == [.said("hi", .feed)])

    try await stage.affiliate(juliet, .none, in: room, by: romeo)
    let left = MemberChange(party: juliet, was: .member, now: .none, nick: "juliet", reason: nil)
    #expect(phone.effects() == [.noted(.member(left))])
    try await stage.say("ho", in: room, by: orchard)
    #expect(phone.effects() == [])
    #expect(try await problem { try await stage.say("x", in: room, by: juliet) } == .roomUnknown)
    #expect(try await stage.stored(room).memberCount == 1)
    // The nick is free again.
    #expect(try await stage.parley.read { try $0.member(nickKey: "juliet", of: room.dialog) } == nil)
  }

  @Test func anAbsentMembersChangeIsToldInANotice() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open)
    let orchard = try await stage.seats(room, romeo)[0]
    for (was, now) in [(Affiliation.none, Affiliation.member), (.member, .admin), (.admin, .none), (.none, .outcast)] {
      try await stage.affiliate(juliet, now, in: room, by: romeo)
      let change = MemberChange(party: juliet, was: was, now: now, nick: nil, reason: nil)
      #expect(orchard.effects() == [.noted(.member(change)), .notice(.member(change))])
    }
  }

  /// The app shows rooms to members: a user who leaves is no occupant any more and cannot write.
  @Test func aMemberWhoLeavesAnOpenRoomInTheAppIsGone() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open)
    let orchard = try await stage.seats(room, romeo)[0]
    let phone = try await stage.session(juliet, "phone", door: .app)
    try await stage.act(.register(.dialog(room.dialog), nick: nil), by: juliet)
    #expect(try await stage.nicks(room, for: romeo) == ["romeo", "juliet"])
    _ = orchard.taken()
    try await stage.affiliate(juliet, .none, in: room, by: juliet)
    #expect(orchard.effects().contains(.occupant("juliet", .none, codes: [], .roomOpen)))
    #expect(try await stage.nicks(room, for: romeo) == ["romeo"])
    #expect(try await problem { try await stage.say("x", in: room, by: juliet) } == .roomUnknown)
    // Juliet, whose XMPP client is in the room, stays an occupant without membership.
    try await stage.act(.register(.dialog(room.dialog), nick: nil), by: juliet)
    let balcony = RecordingSession(juliet)
    try await stage.enter(room, balcony)
    try await stage.affiliate(juliet, .none, in: room, by: juliet)
    #expect(try await stage.occupancy(room, for: romeo).occupants.first { $0.nick == "juliet" }?.resources == ["r"])
    try await stage.act(.exit(.address(room.address), nil), by: balcony)
    #expect(try await stage.nicks(room, for: romeo) == ["romeo"])
    _ = phone.taken()
  }

  @Test func aMemberRemovedFromAClosedRoomLosesAllSessions() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    let all = try await stage.seats(room, romeo, juliet, juliet)
    for session in all { _ = session.taken() }
    try await stage.affiliate(juliet, .none, in: room, by: romeo)
    for session in all.dropFirst() {
      #expect(session.effects().last == .occupant("juliet", .none, codes: [321], .roomOwn))
    }
    #expect(all[0].effects().last == .occupant("juliet", .none, codes: [321], .roomOpen))
    for session in all.dropFirst() {
      #expect(try await problem { try await stage.say("x", in: room, by: session) } == .roomUnknown)
    }
  }

  @Test func aBannedUserGoesWith301AndHasNoNickAndDoesNotComeBack() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open, with: [(juliet, .member)])
    let all = try await stage.seats(room, romeo, juliet, paris)
    for session in all { _ = session.taken() }
    for party in [juliet, paris] { try await stage.affiliate(party, .outcast, in: room, by: romeo) }
    #expect(all[1].effects().last == .occupant("juliet", .none, codes: [301], .roomOwn))
    #expect(all[2].effects().last == .occupant("paris", .none, codes: [301], .roomOwn))
    for party in [juliet, paris] {
      #expect(try await stage.member(party, of: room)?.nick == nil)
      #expect(try await problem { try await stage.enter(room, RecordingSession(party)) } == .roomBanned)
      #expect(
        try await problem { try await stage.act(.register(.dialog(room.dialog), nick: nil), by: party) } == .roomBanned)
      #expect(try await problem { try await stage.affiliate(party, .none, in: room, by: party) }?.kind == .forbidden)
      // Nobody is invited behind an admin's back.
      #expect(
        try await problem {
          try await stage.act(.invite(.dialog(room.dialog), to: party.address, reason: nil), by: romeo)
        } == .outranked)
    }
    #expect(try await stage.stored(room).memberCount == 1)
    // An invitation does not reveal to anybody else who is banned.
    let nurse = try await stage.user("nurse")
    try await stage.affiliate(nurse, .member, in: room, by: romeo)
    let street = try await stage.session(paris, "street", door: .app)
    _ = street.taken()
    try await stage.act(.invite(.dialog(room.dialog), to: paris.address, reason: nil), by: nurse)
    #expect(street.taken().isEmpty)
    try await stage.affiliate(paris, .none, in: room, by: romeo)
    try await stage.act(.invite(.dialog(room.dialog), to: paris.address, reason: nil), by: nurse)
    #expect(!street.taken().isEmpty)
    try await stage.enter(room, all[2])
  }

  @Test func nobodyWhoMayBanBansThemselves() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .admin), (paris, .member)])
    for party in [romeo, juliet] {
      #expect(try await problem { try await stage.affiliate(party, .outcast, in: room, by: party) }?.kind == .conflict)
    }
    #expect(try await problem { try await stage.affiliate(paris, .outcast, in: room, by: paris) }?.kind == .forbidden)
  }

  @Test func theLastOwnerStaysUntilThereIsAnother() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .admin), (paris, .member)])
    let members = RoomReference.dialog(room.dialog)
    func drafts(_ changes: (Party, Affiliation)...) -> [MemberDraft] {
      changes.map { MemberDraft(address: $0.0.address, affiliation: $0.1) }
    }
    for affiliation in [Affiliation.none, .watcher, .member, .admin] {
      #expect(try await problem { try await stage.affiliate(romeo, affiliation, in: room, by: romeo) } == .lastOwner)
      let form = SettingsDraft(members: drafts((romeo, affiliation))) { $0.about = "x" }
      #expect(try await problem { try await stage.act(.configure(members, form), by: romeo) } == .lastOwner)
    }
    #expect(try await stage.stored(room).settings.about == nil)
    // All or none: also what would have been allowed by itself.
    #expect(
      try await problem { try await stage.act(.members(members, drafts((paris, .admin), (romeo, .none))), by: romeo) }
        == .lastOwner)
    #expect(try await stage.member(paris, of: room)?.affiliation == .member)
    // Handed on in one change.
    try await stage.act(.members(members, drafts((romeo, .member), (juliet, .owner))), by: romeo)
    #expect(try await stage.member(romeo, of: room)?.affiliation == .member)
    #expect(try await problem { try await stage.affiliate(juliet, .none, in: room, by: juliet) } == .lastOwner)
    // Both of two owners at once: neither.
    try await stage.affiliate(romeo, .owner, in: room, by: juliet)
    #expect(
      try await problem {
        try await stage.act(.members(members, drafts((romeo, .admin), (juliet, .admin))), by: juliet)
      } == .lastOwner)
    try await stage.affiliate(juliet, .none, in: room, by: juliet)
    #expect(try await stage.stored(room).memberCount == 2)
  }

  /// The second post of a batch sees the effect of the first.
  @Test func twoOwnersWhoLeaveInOneBatchAreNotBothGone() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .owner)])
    let sessions = [RecordingSession(romeo), RecordingSession(juliet)]
    var tokens: [UInt64] = []
    try await stage.together(romeo) {
      for session in sessions {
        let draft = MemberDraft(address: session.party.address, affiliation: Affiliation.none)
        tokens.append(stage.submit(.members(.dialog(room.dialog), [draft]), by: session))
      }
    }
    #expect(throws: Never.self) { try sessions[0].outcome(of: tokens[0])?.get() }
    #expect(throws: Problem.lastOwner) { try sessions[1].outcome(of: tokens[1])?.get() }
  }

  @Test func membershipInAnOpenRoomIsTakenAndGivenUp() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open)
    let all = try await stage.seats(room, romeo, juliet)
    // Entering makes no member.
    #expect(try await stage.member(juliet, of: room) == nil)
    #expect(try await stage.act(.register(.dialog(room.dialog), nick: "Capulet"), by: juliet).isRepeat == false)
    #expect(try await stage.member(juliet, of: room)?.nick == "Capulet")
    #expect(
      all[0].effects().filter { if case .noted = $0 { false } else { true } } == [
        .occupant("juliet", .participant, codes: [303], .roomOpen),
        .occupant("Capulet", .participant, codes: [210], .roomOpen),
      ])
    #expect(try await stage.act(.register(.dialog(room.dialog), nick: nil), by: juliet).isRepeat)
    try await stage.affiliate(juliet, .none, in: room, by: juliet)
    #expect(try await stage.member(juliet, of: room) == nil)
    // She is still there: it is open.
    #expect(try await stage.nicks(room, for: romeo) == ["romeo", "Capulet"])
  }

  /// A member reads along in the app: who does not know the password must not become one.
  @Test func aRoomWithAPasswordIsNotJoinedAroundIt() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open.with { $0.password = "cauldron" })
    #expect(
      try await problem { try await stage.act(.register(.dialog(room.dialog), nick: nil), by: juliet) } == .roomPassword
    )
    #expect(try await stage.member(juliet, of: room) == nil)
    try await stage.enter(room, RecordingSession(juliet), password: "cauldron")
    try await stage.act(.register(.dialog(room.dialog), nick: nil), by: juliet)
    try await stage.say("hi", in: room, by: juliet)
  }

  @Test func aMemberInvitesWhereTheRoomSaysSo() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    let street = try await stage.session(paris, "street")
    let invite = RoomIntent.invite(.dialog(room.dialog), to: paris.address, reason: "Come up")
    #expect(try await problem { try await stage.act(invite, by: juliet) } == .notAdmin)
    #expect(try await problem { try await stage.act(invite, by: paris) } == .roomUnknown)
    try await stage.act(.configure(.dialog(room.dialog), .change { $0.membersInvite = true }), by: romeo)
    try await stage.act(invite, by: juliet)
    #expect(street.effects() == [.invited(room.address.description)])
    #expect(try await stage.member(paris, of: room)?.affiliation == .member)
    #expect(
      try await problem {
        try await stage.act(.invite(.dialog(room.dialog), to: BareJID("nobody@localhost"), reason: nil), by: romeo)
      } == .unreachable)
  }

  /// An occupant can decline only an invitation, to its inviter, once; a room cannot be used to reach others.
  @Test func aRefusalIsHeardOnceAndOnlyFromWhoWasInvited() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open)
    let orchard = try await stage.seats(room, romeo)[0]
    func decline(_ party: Party) async throws -> [Heard] {
      try await stage.act(.decline(.address(room.address), to: romeo.address, reason: "no"), by: party)
      return orchard.effects()
    }
    let told: [Heard] = [.notice(.declined(by: juliet.address, reason: "no"))]
    #expect(try await decline(juliet) == [])
    try await stage.act(.invite(.address(room.address), to: juliet.address, reason: nil), by: romeo)
    #expect(try await decline(paris) == [])
    #expect(try await decline(juliet) == told)
    #expect(try await decline(juliet) == [])
    // A user who becomes a member is invited, too.
    try await stage.affiliate(juliet, .member, in: room, by: romeo)
    _ = orchard.taken()
    #expect(try await decline(juliet) == told)
  }

  @Test func anInvitationSaysWhatItContinues() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo)
    func invited(_ party: Party, _ continuing: Invitation.Continuation?) async throws -> Invitation? {
      try await stage.act(
        .invite(.address(room.address), to: party.address, reason: nil, continuing: continuing), by: romeo)
      let entries = try await stage.parley.read { try $0.feed(of: party.id, after: .zero, limit: 99) }
      return entries.lazy.compactMap { if case .invitation(let invitation) = $0.fact { invitation } else { nil } }.last
    }
    #expect(try await invited(juliet, .init(thread: "e0ff"))?.continuing == .init(thread: "e0ff"))
    #expect(try await invited(juliet, .init(thread: nil))?.continuing == .init(thread: nil))
    let longest = String(repeating: "x", count: Limits.threadBytesMax)
    #expect(try await invited(paris, .init(thread: longest))?.continuing == .init(thread: longest))
    #expect(try await invited(paris, .init(thread: longest + "x"))?.continuing == .init(thread: nil))
    #expect(try await invited(paris, nil)?.continuing == nil)
  }

  /// XMPP knows members only: it makes no more of a watcher, and the app does.
  @Test func aWatcherIsAMemberToXMPP() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .watcher), (paris, .admin)])
    func make(_ party: Party, _ affiliation: Affiliation, keepsWatchers: Bool = true) async throws -> Affiliation? {
      let draft = MemberDraft(address: party.address, affiliation: affiliation, keepsWatchers: keepsWatchers)
      try await stage.act(.members(.address(room.address), [draft]), by: romeo)
      return try await stage.member(party, of: room)?.affiliation
    }
    let version = try await stage.stored(room).version
    #expect(try await make(juliet, .member) == .watcher)
    #expect(try await stage.stored(room).version == version)
    #expect(try await make(juliet, .admin) == .admin)
    #expect(try await make(juliet, .member) == .member)
    #expect(try await make(paris, .watcher) == .watcher)
    #expect(try await make(paris, .member, keepsWatchers: false) == .member)
  }

  @Test func theReasonOfABanIsKeptAndOfNothingElse() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    func make(_ affiliation: Affiliation, _ reason: String?) async throws -> String? {
      try await stage.act(
        .members(
          .address(room.address), [MemberDraft(address: juliet.address, affiliation: affiliation, reason: reason)]),
        by: romeo)
      return try await stage.member(juliet, of: room)?.reason
    }
    let long = String(repeating: "x", count: Limits.reasonBytesMax)
    #expect(try await make(.outcast, long + "x") == long)
    #expect(try await make(.member, "Peace") == nil)
    #expect(try await make(.outcast, nil) == nil)
  }

  // MARK: Nicks

  @Test func aNickIsOnePersonsAlsoWhileTheyAreAway() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open, with: [(juliet, .member)])
    try await stage.act(.register(.dialog(room.dialog), nick: "juliet"), by: juliet)
    let street = RecordingSession(paris)
    // Juliet is away; spelling is no difference (RFC 8266).
    for nick in ["juliet", "JULIET", " Juliet ", "ｊｕｌｉｅｔ"] {
      #expect(try await problem { try await stage.enter(room, street, nick) } == .nickTaken)
    }
    try await stage.enter(room, street, "Count")
    #expect(try await problem { try await stage.enter(room, street, "Juliet", isJoin: false) } == .nickTaken)
    #expect(
      try await problem { try await stage.act(.register(.dialog(room.dialog), nick: "romeo"), by: paris) } == .nickTaken
    )
    // The nick of somebody who is only visiting cannot be reserved by others.
    #expect(
      try await problem { try await stage.act(.register(.dialog(room.dialog), nick: "count"), by: juliet) }
        == .nickTaken)
    // She comes under hers if the one she wishes for is another's, and else under the wish, which is then reserved.
    let balcony = RecordingSession(juliet)
    let enteredRoom = try #require(try await stage.enter(room, balcony, "Count"))
    #expect(enteredRoom.own.nick == "juliet")
    #expect(enteredRoom.own.ownCodes == [210])
    try await stage.act(.exit(.address(room.address), nil), by: balcony)
    let renamed = try #require(try await stage.enter(room, balcony, "Capulet"))
    #expect(renamed.own.nick == "Capulet")
    #expect(renamed.own.ownCodes == [])
    let member = try #require(try await stage.member(juliet, of: room))
    #expect(member.nick == "Capulet" && member.isNickRegistered)
    try await stage.enter(room, street, "Juliet", isJoin: false)
    let hall = RecordingSession(try await stage.user("tybalt"))
    for nick in ["", " ", "\u{0}", String(repeating: "x", count: Limits.nickBytesMax + 1)] {
      #expect(try await problem { try await stage.enter(room, hall, nick) } == .nickInvalid)
    }
    try await stage.enter(room, hall, String(repeating: "x", count: Limits.nickBytesMax))
  }

  /// UTS #39; `Tests/Vectors/names.json` has more pairs.
  @Test func aCopyOfANickIsRefusedAndOneThatLooksAlikeEnters() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let (tybalt, nurse) = (try await stage.user("tybalt"), try await stage.user("nurse"))
    let room = try await stage.room(by: romeo, .open, with: [(juliet, .member)])
    let (street, hall) = (RecordingSession(paris), RecordingSession(tybalt))
    // Romeo and Juliet are away: his nick is in the store before the first comparison, hers is reserved after it.
    #expect(try await problem { try await stage.enter(room, street, "r\u{43E}meo") } == .nickTaken)
    try await stage.act(.register(.dialog(room.dialog), nick: "alice"), by: juliet)
    for nick in ["\u{430}lice", "alic\u{435}", "al\u{131}ce", "\u{251}lice", "\u{410}LICE"] {
      #expect(try await problem { try await stage.enter(room, street, nick) } == .nickTaken)
      #expect(
        try await problem { try await stage.act(.register(.dialog(room.dialog), nick: nick), by: paris) } == .nickTaken)
    }
    // Two names that look alike enter, in ASCII and in two scripts; an occupant's nick is not copied by another one.
    try await stage.enter(room, street, "Al")
    try await stage.enter(room, hall, "AI")
    #expect(try await problem { try await stage.enter(room, hall, "\u{410}l", isJoin: false) } == .nickTaken)
    try await stage.enter(room, street, "Oca", isJoin: false)
    try await stage.enter(room, hall, "\u{41E}\u{441}\u{430}", isJoin: false)
    // Now nobody has it.
    try await stage.enter(room, hall, "\u{410}l", isJoin: false)
    // One's own nick is no obstacle; one's other device is the same occupant.
    let balcony = RecordingSession(juliet)
    #expect(try await stage.enter(room, balcony, "alice")?.own.nick == "alice")
    #expect(try await stage.enter(room, RecordingSession(juliet), "\u{430}lice")?.own.nick == "alice")
    // A reservation ends with the membership.
    try await stage.act(.register(.dialog(room.dialog), nick: "Rose"), by: nurse)
    #expect(try await problem { try await stage.enter(room, hall, "R\u{43E}se", isJoin: false) } == .nickTaken)
    try await stage.affiliate(nurse, .none, in: room, by: romeo)
    try await stage.enter(room, hall, "R\u{43E}se", isJoin: false)
    // A new account empties the cache of rooms; the nicks that were read stay.
    let lady = try await stage.user("lady")
    #expect(try await problem { try await stage.enter(room, street, "rome\u{43E}", isJoin: false) } == .nickTaken)
    // What the server chooses gets a number.
    let drafts = [
      MemberDraft(address: nurse.address, affiliation: .member, nick: "Sun"),
      MemberDraft(address: lady.address, affiliation: .member, nick: "\u{405}un"),
    ]
    try await stage.act(.members(.dialog(room.dialog), drafts), by: romeo)
    #expect(try await stage.member(nurse, of: room)?.nick == "Sun")
    #expect(try await stage.member(lady, of: room)?.nick == "\u{405}un 2")
    // Nor does an erased account keep its nick.
    #expect(try await problem { try await stage.enter(room, hall, "S\u{3C5}n", isJoin: false) } == .nickTaken)
    try await stage.parley.work { try $0.erasePersonalData(nurse.id) }
    try await stage.enter(room, hall, "S\u{3C5}n", isJoin: false)
  }

  @Test func anotherNickIsToldAsGoingAndComing() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open)
    let all = try await stage.seats(room, romeo, juliet)
    try await stage.enter(room, all[1], "Capulet", isJoin: false)
    #expect(
      all[0].effects() == [
        .occupant("juliet", .participant, codes: [303], .roomOpen),
        .occupant("Capulet", .participant, codes: [], .roomOpen),
      ])
    #expect(
      all[1].effects() == [
        .occupant("juliet", .participant, codes: [303], .roomOwn),
        .occupant("Capulet", .participant, codes: [], .roomOwn),
      ])
    // The old one is free.
    try await stage.enter(room, RecordingSession(try await stage.user("nurse")), "Juliet")
  }

  @Test func twoWishesForOneNickAreRefusedTogether() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo)
    let drafts = [
      MemberDraft(address: juliet.address, affiliation: .member, nick: "Sun"),
      MemberDraft(address: paris.address, affiliation: .member, nick: "SUN"),
    ]
    #expect(try await problem { try await stage.act(.members(.dialog(room.dialog), drafts), by: romeo) } == .nickTaken)
    #expect(try await stage.stored(room).memberCount == 1)
    // The second of two equal nicks in a new room is changed.
    let chapel = try #require(
      try await stage.act(.create(RoomDraft(localpart: "chapel", settings: .group, members: drafts)), by: romeo).room)
    #expect(try await stage.member(juliet, of: chapel.name)?.nick == "Sun")
    #expect(try await stage.member(paris, of: chapel.name)?.nick == "SUN 2")
  }

  /// Being added reserves nothing; the nick that is first entered under is reserved, and not registered.
  @Test func nobodyIsGivenANick() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    #expect(try await stage.member(juliet, of: room)?.nick == nil)
    let balcony = RecordingSession(juliet)
    #expect(try await problem { try await stage.enter(room, balcony, "romeo") } == .nickTaken)
    #expect(try await stage.enter(room, balcony, "Lady")?.own.ownCodes == [100])
    let member = try #require(try await stage.member(juliet, of: room))
    #expect(member.nick == "Lady" && !member.isNickRegistered)
    // Registering it changes nothing that anybody is told.
    #expect(try await stage.act(.register(.dialog(room.dialog), nick: "Lady"), by: juliet).isRepeat)
    #expect(try await stage.member(juliet, of: room)?.isNickRegistered == true)
  }

  /// Every user of the app gets a nickname when they come, whatever their name is.
  @Test func aUserWithAUsualNameOrNoneGetsANickToo() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let namesakes = try await stage.crowd(40, "smith", displayName: "John Smith")
    let long = try await stage.crowd(2, String(repeating: "w", count: 600))
    let wide = try await stage.crowd(
      3, "wide", displayName: String(repeating: "ä", count: Limits.displayNameBytesMax / 2))
    for party in namesakes + long + wide { _ = try await stage.session(party, "phone", door: .app) }
    let room = try await stage.room(by: romeo, with: (namesakes + long + wide).map { ($0, .member) })
    var nicks: Set<String> = []
    for party in namesakes + long + wide {
      let nick = try #require(try await stage.member(party, of: room)?.nick)
      nicks.insert(nick)
      #expect(nick.utf8.count <= Limits.nickBytesMax)
      #expect(try await stage.enter(room, RecordingSession(party), "me")?.own.nick == nick)
    }
    #expect(nicks.count == 45)
  }

  // MARK: Roles

  @Test func aKickedUserGoesWith307AndMayComeBack() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open)
    let all = try await stage.seats(room, romeo, juliet, paris)
    for session in all { _ = session.taken() }
    #expect(try await problem { try await stage.role("paris", .none, in: room, by: all[1]) } == .notModerator)
    #expect(try await problem { try await stage.role("nobody", .none, in: room, by: all[0]) } == .occupantUnknown)
    try await stage.role("juliet", .none, in: room, by: all[0])
    #expect(all[1].effects() == [.occupant("juliet", .none, codes: [307], .roomOwn)])
    #expect(all[2].effects() == [.occupant("juliet", .none, codes: [307], .room)])
    #expect(try await problem { try await stage.say("x", in: room, by: all[1]) } == .notOccupant)
    try await stage.enter(room, all[1])
  }

  @Test func anOwnerKicksAnAdminNobodyKicksAnOwner() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .admin), (paris, .member)])
    let all = try await stage.seats(room, romeo, juliet, paris)
    #expect(try await problem { try await stage.role("romeo", .none, in: room, by: all[1]) } == .outranked)
    for role in [Role.visitor, .participant] {
      #expect(try await problem { try await stage.role("juliet", role, in: room, by: all[0]) } == .outranked)
    }
    try await stage.role("paris", .moderator, in: room, by: all[1])
    #expect(try await problem { try await stage.role("juliet", .none, in: room, by: all[2]) } == .outranked)
    try await stage.role("juliet", .none, in: room, by: all[0])
    #expect(try await stage.nicks(room, for: romeo) == ["romeo", "paris"])
  }

  @Test func oneRefusalLeavesAllRolesAsTheyWere() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open, with: [(paris, .owner)])
    let all = try await stage.seats(room, romeo, juliet, paris)
    for session in all { _ = session.taken() }
    let drafts = [
      RoleDraft(nick: "juliet", role: .none, reason: nil), RoleDraft(nick: "paris", role: .visitor, reason: nil),
    ]
    #expect(try await problem { try await stage.act(.roles(.address(room.address), drafts), by: all[0]) } == .outranked)
    for session in all { #expect(session.effects() == []) }
    #expect(try await stage.nicks(room, for: romeo).count == 3)
  }

  // MARK: Settings

  @Test func aRoomThatClosesPutsOutWhoIsNoMember() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open, with: [(juliet, .member)])
    let all = try await stage.seats(room, romeo, juliet, paris)
    for session in all { _ = session.taken() }
    try await stage.act(.configure(.dialog(room.dialog), .change { $0 = .group }), by: romeo)
    #expect(all[2].effects().last == .occupant("paris", .none, codes: [322], .roomOwn))
    let told = all[1].effects()
    #expect(told.contains(.occupant("paris", .none, codes: [322], .roomOpen)))
    #expect(told.last == .notice(.settings(codes: [104, 172])))
    #expect(try await stage.nicks(room, for: romeo) == ["romeo", "juliet"])
    // Nothing changes: nobody is told.
    #expect(try await stage.act(.configure(.dialog(room.dialog), .change { _ in }), by: romeo).isRepeat)
    #expect(all[1].effects() == [])
  }

  @Test func adminsNameARoomOwnersSayWhoGetsIn() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .admin), (paris, .member)])
    let reference = RoomReference.dialog(room.dialog)
    try await stage.act(.configure(reference, .change { $0.name = "Verona" }), by: juliet)
    #expect(
      try await problem { try await stage.act(.configure(reference, .change { $0.isListed = true }), by: juliet) }
        == .notOwner)
    let form = SettingsDraft(members: [MemberDraft(address: juliet.address, affiliation: .owner)]) { _ in }
    #expect(try await problem { try await stage.act(.configure(reference, form), by: juliet) } == .notOwner)
    #expect(
      try await problem { try await stage.act(.configure(reference, .change { $0.name = "x" }), by: paris) }
        == .notAdmin)
    #expect(try await stage.stored(room).settings.name == "Verona")
    // Two who change different fields at once both succeed.
    let sessions = [RecordingSession(romeo), RecordingSession(juliet)]
    try await stage.together(romeo) {
      stage.submit(.configure(reference, .change { $0.password = "cauldron" }), by: sessions[0])
      stage.submit(.configure(reference, .change { $0.about = "Two households" }), by: sessions[1])
    }
    let settings = try await stage.stored(room).settings
    #expect(settings.password == "cauldron")
    #expect(settings.about == "Two households")
  }

  @Test func aFormNamesOwnersAndAdminsByTheSameRules() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    try await stage.accounts.setState(of: paris.id, .deleted)
    func form(_ drafts: (Party, Affiliation)...) -> RoomIntent {
      .configure(
        .dialog(room.dialog),
        SettingsDraft(members: drafts.map { MemberDraft(address: $0.0.address, affiliation: $0.1) }) { $0.about = "x" })
    }
    // A deleted user cannot replace an existing one as owner.
    #expect(
      try await problem { try await stage.act(form((paris, .owner), (romeo, .none)), by: romeo) }?.code
        == "user-unknown")
    #expect(try await stage.stored(room).memberCount == 2)
    try await stage.act(form((juliet, .owner), (romeo, .admin)), by: romeo)
    #expect(try await stage.member(romeo, of: room)?.affiliation == .admin)
    #expect(try await stage.stored(room).memberCount == 2)
    #expect(try await stage.stored(room).settings.about == "x")
  }

  @Test func aDeletedUserIsAMemberNowhere() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open, with: [(juliet, .member), (paris, .admin)])
    let all = try await stage.seats(room, romeo, juliet)
    try await stage.accounts.setState(of: juliet.id, .deleted)
    #expect(try await stage.stored(room).memberCount == 2)
    #expect(try await stage.member(juliet, of: room) == nil)
    // A room is not left without an owner.
    try await stage.accounts.setState(of: romeo.id, .deleted)
    #expect(try await stage.member(paris, of: room)?.affiliation == .owner)
    #expect(try await stage.stored(room).memberCount == 1)
    for session in all { try await stage.act(.vacate(session.id), by: session.party) }
  }
}
