import Addresses
import Dialogs
import DialogsFixtures
import Testing

/// A hidden members-only room looks missing to users without a relation to it.
@Suite struct RoomVisibilityTests {
  /// Whether a stranger could use the intent to probe a room by its address or number. The switch has no default, so
  /// that a new intent must state here what strangers learn by it.
  private static func isAboutARoom(_ intent: RoomIntent) -> Bool {
    switch intent {
    case .introduce, .enter, .show, .exit, .say, .signal, .whisper, .pass, .face, .marker, .members, .roles, .configure,
      .prepare, .abandon,
      .topic,
      .invite,
      .decline, .askForVoice, .register, .destroy, .occupants, .place, .probe, .lose:
      true
    // Of a room that is not there yet; of a session; answered the same whatever there is; for the server, which names
    // listed rooms only.
    case .create, .come, .vacate, .expelOutsiders, .endMembers, .endEmpty, .removeContent, .readNicks, .headcounts:
      false
    }
  }

  private func intents(
    _ stage: Stage, _ room: RoomReference, by session: RecordingSession, about owner: Party, _ entry: PublicID
  ) throws -> [RoomIntent] {
    let stranger = session.party
    let stanza = RelayedStanza(
      name: .message(.groupchat), from: stranger, fromResource: "r", to: stranger.address, toResource: nil, id: nil,
      extras: [])
    let marked = RoomMessageDraft(content: Content(kind: .none), envelope: Envelope(), traits: [], key: nil)
    let nobody = try BareJID("nobody@localhost")
    var intents: [RoomIntent] = [
      .show(room, stage.presence(session)), .exit(room, nil), .lose(room, DeliveryError(condition: "gone")),
      .say(room, stage.draft("x")),
      .say(room, stage.draft("x", app: true)), .signal(room, stanza), .pass(room, nick: "romeo", stanza),
      .pass(room, nick: "nobody", stanza), .face(room, nick: "romeo"), .face(room, nick: "nobody"),
      .whisper(room, nick: "romeo", stage.draft("x")),
      .marker(room, RoomMarkerDraft(kind: .displayed, target: entry)),
      .marker(room, RoomMarkerDraft(kind: .displayed, target: entry, stanza: marked)),
      .roles(room, [RoleDraft(nick: "romeo", role: .none, reason: nil)]), .roles(room, []),
      .configure(room, .change { _ in }), .configure(room, .change { $0.name = "x" }),
      .configure(room, .change { $0.slowModeSeconds = -1 }), .abandon(room), .prepare(room),
      .topic(room, text: "x", stanza: nil), .topic(room, text: "x", stanza: stage.draft("")),
      .topic(room, text: String(repeating: "x", count: Limits.topicBytesMax + 1), stanza: nil),
      .askForVoice(room), .register(room, nick: nil), .register(room, nick: "romeo"), .register(room, nick: ""),
      .destroy(room, reason: nil, alternate: nil), .occupants(room), .place(room), .probe(room, nick: nil),
      .probe(room, nick: "romeo"), .probe(room, nick: "nobody"),
    ]
    for address in [stranger.address, owner.address, nobody] {
      intents += [
        .members(room, [MemberDraft(address: address, affiliation: .member)]),
        .members(room, [MemberDraft(address: address, affiliation: Affiliation.none)]),
        .members(room, [MemberDraft(address: address, affiliation: .outcast, bansAddress: true)]),
        .members(room, [MemberDraft(address: address, affiliation: nil, nick: "romeo")]),
        .invite(room, to: address, reason: nil), .decline(room, to: address, reason: nil),
      ]
    }
    #expect(intents.allSatisfy { Self.isAboutARoom($0) })
    return intents
  }

  @Test(arguments: ["stranger", "banned", "former"])
  func aHiddenMembersOnlyRoomLooksAbsent(_ kind: String) async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room(by: romeo)
    let entry = try #require(try await stage.say("secret", in: room, by: romeo).entry).id
    switch kind {
    case "banned": try await stage.affiliate(juliet, .outcast, in: room, by: romeo)
    case "former":
      try await stage.affiliate(juliet, .member, in: room, by: romeo)
      try await stage.affiliate(juliet, .none, in: room, by: romeo)
    default: break
    }
    let all = try await stage.seats(room, romeo)
    let balcony = RecordingSession(juliet)
    let before = try await stage.stored(room)
    let nowhere = try BareJID("nowhere@conference.localhost")
    // A banned user was told so, and is told again when they ask for the occupants.
    func expected(_ intent: RoomIntent) -> Problem {
      switch intent {
      case .occupants, .place: kind == "banned" ? .roomBanned : .roomUnknown
      default: .roomUnknown
      }
    }
    for reference in [RoomReference.address(room.address), .dialog(room.dialog)] {
      let there = try intents(stage, reference, by: balcony, about: romeo, entry)
      // The same requests about a room that never existed are answered in the same words.
      let absent = try intents(
        stage, reference == .dialog(room.dialog) ? .dialog(DialogID(999)) : .address(nowhere), by: balcony,
        about: romeo,
        entry)
      for (intent, elsewhere) in zip(there, absent) {
        #expect(try await problem { try await stage.act(intent, by: balcony) } == expected(intent), "\(intent)")
        #expect(try await problem { try await stage.act(elsewhere, by: balcony) } == .roomUnknown, "\(intent)")
        // The app, which has no occupant, gets the same answer.
        #expect(try await problem { try await stage.act(intent, by: juliet) } == expected(intent), "\(intent)")
      }
    }
    #expect(all[0].effects() == [])
    #expect(balcony.effects() == [])
    #expect(try await stage.stored(room) == before)
    // XEP-0045 7.2.6 and 7.2.7: who tries to enter is told why not.
    #expect(
      try await problem { try await stage.enter(room, balcony) } == (kind == "banned" ? .roomBanned : .roomMembersOnly))

    // The room's destruction does not reveal that it existed.
    try await stage.act(.destroy(.dialog(room.dialog), reason: nil, alternate: nil), by: romeo)
    for intent in try intents(stage, .dialog(room.dialog), by: balcony, about: romeo, entry) {
      #expect(try await problem { try await stage.act(intent, by: balcony) } == .roomUnknown, "\(intent)")
    }
  }

  /// The room's own members are told the reason.
  @Test func aMemberOfAHiddenRoomIsToldTheRefusal() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room(by: romeo, with: [(juliet, .watcher)])
    let entry = try #require(try await stage.say("secret", in: room, by: romeo).entry).id
    let balcony = RecordingSession(juliet)
    for intent in try intents(stage, .address(room.address), by: balcony, about: romeo, entry) {
      // Leaving is the end of it: at last.
      if case .members(_, let drafts) = intent, drafts[0].address == juliet.address { continue }
      #expect(try await problem { try await stage.act(intent, by: balcony) } != .roomUnknown, "\(intent)")
    }
  }

  @Test func aRoomThatIsListedShowsWhoIsThereWhereAnybodyMayEnter() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room(by: romeo, .open)
    _ = try await stage.seats(room, romeo)
    #expect(try await stage.nicks(room, for: juliet) == ["romeo"])
    try await stage.act(.configure(.dialog(room.dialog), .change { $0.isMembersOnly = true }), by: romeo)
    let occupancy = try await stage.occupancy(room, for: juliet)
    #expect(occupancy.occupants.isEmpty)
    #expect(occupancy.count == 1)
    try await stage.affiliate(juliet, .outcast, in: room, by: romeo)
    #expect(try await problem { _ = try await stage.occupancy(room, for: juliet) } == .roomBanned)
  }

  /// Whoever may know of a room learns how many are there. Who they are is for those who read it, and for everyone where
  /// no list of members decides who enters: a password keeps strangers out, but hides nobody from them.
  @Test(arguments: [false, true], [nil, "cyrinic"])
  func occupantsAreCountedForAllAndListed(isMembersOnly: Bool, password: String?) async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    var settings = RoomSettings.open
    (settings.isMembersOnly, settings.password) = (isMembersOnly, password)
    let room = try await stage.room(by: romeo, settings, with: [(juliet, .member)])
    try await stage.enter(room, RecordingSession(romeo), password: password)
    for (viewer, isListed) in [(romeo, true), (juliet, true), (paris, !isMembersOnly)] {
      let occupancy = try await stage.occupancy(room, for: viewer)
      #expect(occupancy.count == 1, "\(viewer.name)")
      #expect(occupancy.occupants.map(\.nick) == (isListed ? ["romeo"] : []), "\(viewer.name)")
    }
  }

  /// A user without rights in a room cannot find out with it which accounts exist.
  @Test func aUserWhoMayChangeNobodyLearnsOfNobody() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room(by: romeo, .open, with: [(juliet, .member)])
    _ = try await stage.user("paris")
    for name in ["romeo", "paris", "nobody"] {
      let draft = MemberDraft(address: try BareJID("\(name)@localhost"), affiliation: .member)
      #expect(
        try await problem { try await stage.act(.members(.dialog(room.dialog), [draft]), by: juliet) } == .notAdmin)
    }
  }

  @Test func aRoomOfAnotherRealmIsNotThere() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let room = try await stage.room(by: romeo, .open)
    let foreigner = Party(id: romeo.id, realm: RealmID(77), address: romeo.address)
    for reference in [RoomReference.dialog(room.dialog), .address(room.address)] {
      #expect(try await problem { try await stage.act(.occupants(reference), by: foreigner) } == .roomUnknown)
    }
  }

  @Test func aLaterMemberSeesEarlierMessagesOnlyWhereTheRoomAllowsIt() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open.with { $0.history = .sinceJoin })
    try await stage.say("before", in: room, by: romeo)
    try await stage.affiliate(juliet, .member, in: room, by: romeo)
    let since = try #require(try await stage.member(juliet, of: room)).since
    try await stage.say("after", in: room, by: romeo)
    let head = try await stage.parley.read { try $0.head().position }
    #expect(try await stage.enter(room, RecordingSession(juliet))?.messages?.behind == since)
    // Another affiliation is no other beginning.
    try await stage.affiliate(juliet, .admin, in: room, by: romeo)
    #expect(try await stage.member(juliet, of: room)?.since == since)
    // A user who is no member has not joined, and gets no history.
    let guest = try #require(try await stage.enter(room, RecordingSession(paris)))
    #expect(guest.messages?.behind == .end)
    #expect(guest.position >= head)
    #expect(try await stage.enter(room, RecordingSession(romeo))?.messages?.behind ?? .end < since)
    try await stage.act(.configure(.dialog(room.dialog), .change { $0.history = .all }), by: romeo)
    #expect(try await stage.enter(room, RecordingSession(juliet))?.messages?.behind == .zero)
    // The history of a user who leaves and comes back begins anew.
    try await stage.affiliate(juliet, .none, in: room, by: romeo)
    try await stage.affiliate(juliet, .member, in: room, by: romeo)
    #expect(try #require(try await stage.member(juliet, of: room)).since > since)
  }
}
