import Addresses
import Dialogs
import DialogsFixtures
import Testing

/// A kick takes the seat (XEP-0045 8.2), and from members who follow with the app the
/// voice, until they come back.
@Suite struct KickTests {
  private func kicked(_ was: Affiliation = .member, nick: String = "juliet") -> (Party) -> RoomChange.Change {
    { .member(MemberChange(party: $0, was: was, now: was, nick: nick, reason: nil, isKicked: true)) }
  }

  private func back(_ party: Party, _ affiliation: Affiliation = .member) -> RoomChange.Change {
    .member(
      MemberChange(party: party, was: affiliation, now: affiliation, nick: "juliet", reason: nil, wasKicked: true))
  }

  private func cast(_ stage: Stage) async throws -> (Party, Party) {
    (try await stage.user("romeo"), try await stage.user("juliet"))
  }

  @Test func aMemberWhoIsKickedReadsAndIsSilentUntilTheyJoinAgain() async throws {
    let stage = try Stage()
    let (romeo, juliet) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    let said = try #require(try await stage.say("hers", in: room, by: juliet).entry)
    let phone = try await stage.session(juliet, "phone", door: .app)
    let all = try await stage.seats(room, romeo)
    _ = phone.taken()
    #expect(try await stage.nicks(room, for: romeo) == ["romeo", "juliet"])

    try await stage.role("juliet", .none, in: room, by: all[0])
    #expect(all[0].effects() == [.occupant("juliet", .none, codes: [307], .roomOpen), .noted(kicked()(juliet))])
    #expect(phone.effects() == [.noted(kicked()(juliet))])
    #expect(try await stage.nicks(room, for: romeo) == ["romeo"])
    #expect(try await stage.member(juliet, of: room)?.isKicked == true)
    #expect(try await stage.stored(room).memberCount == 2)

    let nurse = try await stage.user("nurse")
    #expect(
      try await problem {
        try await stage.act(.invite(.dialog(room.dialog), to: nurse.address, reason: "Come!"), by: juliet)
      } == .roomKicked)
    // Whatever is said, by whatever way.
    let reference = ReferenceDraft(kind: .retraction(reason: nil), target: .entry(said.id))
    var retraction = stage.draft("", app: true)
    retraction.reference = reference
    let typing = RelayedStanza(
      name: .message(.groupchat), from: juliet, fromResource: nil, to: room.address, toResource: nil, id: nil,
      extras: [],
      typing: true)
    for intent in [
      RoomIntent.say(.dialog(room.dialog), stage.draft("x", app: true)), .say(.dialog(room.dialog), retraction),
      .topic(.dialog(room.dialog), text: "x", stanza: nil), .signal(.dialog(room.dialog), typing),
    ] {
      #expect(try await problem { try await stage.act(intent, by: juliet) } == .roomKicked, "\(intent)")
    }
    // Reading goes on, and is noted as read.
    try await stage.say("his", in: room, by: all[0])
    #expect(phone.effects() == [.said("his", .feed)])
    try await stage.act(
      .marker(.dialog(room.dialog), RoomMarkerDraft(kind: .displayed, target: said.id)), by: juliet)

    // A new app session is not there either.
    let tablet = try await stage.session(juliet, "tablet", door: .app)
    #expect(try await stage.nicks(room, for: romeo) == ["romeo"])
    _ = (phone.taken(), all[0].taken(), tablet.taken())

    try await stage.act(.register(.dialog(room.dialog), nick: nil), by: juliet)
    #expect(phone.effects() == [.noted(back(juliet))])
    #expect(tablet.effects() == [.noted(back(juliet))])
    #expect(try await stage.member(juliet, of: room)?.isKicked == false)
    #expect(try await stage.nicks(room, for: romeo) == ["romeo", "juliet"])
    try await stage.say("hello again", in: room, by: juliet)
    // Joining twice says nothing twice.
    _ = phone.taken()
    #expect(try await stage.act(.register(.dialog(room.dialog), nick: nil), by: juliet).isRepeat)
    #expect(phone.effects() == [])
  }

  @Test func enteringIsComingBackToo() async throws {
    let stage = try Stage()
    let (romeo, juliet) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    let all = try await stage.seats(room, romeo, juliet)
    let phone = try await stage.session(juliet, "phone", door: .app)
    try await stage.role("juliet", .none, in: room, by: all[0])
    #expect(try await problem { try await stage.say("x", in: room, by: all[1]) } == .notOccupant)
    #expect(try await problem { try await stage.say("x", in: room, by: juliet) } == .roomKicked)
    _ = phone.taken()
    try await stage.enter(room, all[1])
    #expect(phone.effects() == [.noted(back(juliet))])
    try await stage.say("x", in: room, by: juliet)
    // The app sessions are seats again: the occupant stays when the XMPP client goes.
    try await stage.act(.exit(.address(room.address), nil), by: all[1])
    #expect(try await stage.nicks(room, for: romeo) == ["romeo", "juliet"])
  }

  /// Later changes of the affiliation by an admin do not end a kick; being removed and added again does.
  @Test func onlyComingBackOrBeingAddedAnewEndsIt() async throws {
    let stage = try Stage()
    let (romeo, juliet) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    let all = try await stage.seats(room, romeo, juliet)
    try await stage.role("juliet", .none, in: room, by: all[0])
    try await stage.affiliate(juliet, .admin, in: room, by: romeo)
    #expect(try await stage.member(juliet, of: room)?.isKicked == true)
    #expect(try await problem { try await stage.say("x", in: room, by: juliet) } == .roomKicked)
    try await stage.affiliate(juliet, .none, in: room, by: romeo)
    try await stage.affiliate(juliet, .member, in: room, by: romeo)
    #expect(try await stage.member(juliet, of: room)?.isKicked == false)
    try await stage.say("x", in: room, by: juliet)
  }

  @Test func aKickedUserWhoWasNoMemberIsNotNotedAndMayJoin() async throws {
    let stage = try Stage()
    let (romeo, juliet) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open)
    let all = try await stage.seats(room, romeo, juliet)
    let before = try await stage.stored(room).sequence
    try await stage.role("juliet", .none, in: room, by: all[0])
    #expect(try await stage.stored(room).sequence == before)
    try await stage.act(.register(.dialog(room.dialog), nick: nil), by: juliet)
    try await stage.say("x", in: room, by: juliet)
  }

  @Test func aBatchThatFailsKicksNobody() async throws {
    let stage = try Stage()
    let (romeo, juliet) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    let all = try await stage.seats(room, romeo, juliet)
    try await stage.failing(
      .roles(.address(room.address), [RoleDraft(nick: "juliet", role: .none, reason: nil)]), by: all[0])
    #expect(try await stage.member(juliet, of: room)?.isKicked == false)
    try await stage.say("x", in: room, by: all[1])
  }
}
