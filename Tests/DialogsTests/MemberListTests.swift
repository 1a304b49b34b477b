import Addresses
import Basics
import Dialogs
import DialogsFixtures
import Testing

/// The member list by version (XEP-0463): a client that has it and applies the changes has the same list as a client
/// that requests it anew.
@Suite struct MemberListTests {
  private typealias List = [String: Affiliation]

  /// Enters, and leaves again.
  private func enter(
    _ stage: Stage, _ room: RoomName, _ party: Party, _ list: MemberListRequest?
  ) async throws -> EnteredRoom {
    let session = RecordingSession(party)
    let entering = Entering(
      session: session, nick: party.name, password: nil, presence: stage.presence(session), isJoin: true, list: list)
    let receipt = try await stage.act(.enter(.address(room.address), entering), by: session)
    try await stage.act(.exit(.address(room.address), nil), by: session)
    return try #require(receipt.value as? EnteredRoom)
  }

  private func applied(_ answer: MemberListAnswer, to list: List) throws -> List {
    switch answer {
    case .nothing: return list
    case .refused: throw StageError.full
    case .members(let members, let since):
      var list = since == nil ? [:] : list
      for member in members {
        list[member.party.name] = member.affiliation == .none ? nil : member.affiliation
      }
      return list
    }
  }

  private func whole(_ stage: Stage, _ room: RoomName, _ party: Party) async throws -> (version: Position, list: List) {
    let enteredRoom = try await enter(stage, room, party, .whole)
    return (try #require(enteredRoom.listVersion), try applied(enteredRoom.list, to: [:]))
  }

  private func isWhole(_ answer: MemberListAnswer) -> Bool {
    if case .members(_, nil) = answer { true } else { false }
  }

  /// Each entrance brings the list: in a room with thousands of members half a megabyte.
  @Test func entrancesWithALongListHaveAPace() async throws {
    let stage = try Stage()
    let (romeo, nurse) = (try await stage.user("romeo"), try await stage.user("nurse"))
    let people = try await stage.crowd(62).map { ($0, Affiliation.member) }
    let room = try await stage.room(by: romeo, with: [(nurse, .member)] + people)
    let small = try await stage.room("small", by: romeo, with: [(nurse, .member)])
    for _ in 0..<64 { _ = try await enter(stage, room, nurse, .whole) }
    #expect(try await problem { _ = try await enter(stage, room, nurse, .whole) }?.code == "entrances-too-fast")
    // Others, other rooms, and clients that keep no list have no such pace.
    _ = try await enter(stage, room, nurse, nil)
    _ = try await enter(stage, room, romeo, .whole)
    for _ in 0..<65 { _ = try await enter(stage, small, nurse, .whole) }
    stage.clock.set(stage.clock.now.milliseconds + 1_000)
    _ = try await enter(stage, room, nurse, .whole)
  }

  @Test(arguments: [1, 2, 3] as [UInt64]) func laterChangesMakeTheCurrentList(seed: UInt64) async throws {
    let stage = try Stage()
    let (romeo, nurse) = (try await stage.user("romeo"), try await stage.user("nurse"))
    let others = try await stage.crowd(5)
    let room = try await stage.room(by: romeo, with: [(nurse, .member)])
    var random = Dice(state: seed)
    var known: [UserID: [(version: Position, list: List)]] = [:]
    for _ in 0..<25 {
      for viewer in [romeo, nurse] { known[viewer.id, default: []].append(try await whole(stage, room, viewer)) }
      for _ in 0..<Int.random(in: 0...2, using: &random) {
        let party = try #require(others.randomElement(using: &random))
        let affiliation = try #require(Affiliation.allCases.randomElement(using: &random))
        try await stage.affiliate(party, affiliation, in: room, by: romeo)
      }
    }
    for viewer in [romeo, nurse] {
      let today = try await whole(stage, room, viewer)
      #expect(viewer == romeo || !today.list.values.contains(.outcast))
      for (version, list) in known[viewer.id] ?? [] {
        let enteredRoom = try await enter(stage, room, viewer, .since(version))
        #expect(enteredRoom.listVersion == today.version)
        #expect(!isWhole(enteredRoom.list))
        #expect((enteredRoom.list == .nothing) == (version == today.version))
        #expect(try applied(enteredRoom.list, to: list) == today.list)
      }
    }
  }

  @Test func anUnknownVersionIsAnsweredWithTheWholeList() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room(by: romeo)
    let other = try await stage.room("mantua", by: romeo)
    let orchard = try await stage.seats(room, romeo)[0]
    let said = try await stage.say("hi", in: room, by: orchard).position
    let topic = try #require(
      try await stage.act(.topic(.address(room.address), text: "Feuds", stanza: nil), by: romeo).entry)
    let nick = try #require(
      try await stage.act(
        .members(.dialog(room.dialog), [MemberDraft(address: romeo.address, affiliation: nil, nick: "Montague")]),
        by: romeo
      ).entry)
    // Nicks are no part of the list.
    #expect(try await stage.stored(room).version < said)
    try await stage.affiliate(juliet, .member, in: room, by: romeo)
    let foreign = try await stage.stored(other).version
    for position in [.zero, foreign, said, topic.position, nick.position, Position(1 << 40), .end] {
      let enteredRoom = try await enter(stage, room, romeo, .since(position))
      #expect(try applied(enteredRoom.list, to: ["tybalt": .owner]) == ["romeo": .owner, "juliet": .member])
      #expect(isWhole(enteredRoom.list))
    }
  }

  @Test func aViewerWhoseAffiliationHasChangedGetsTheWholeList() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("paris")
    )
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    try await stage.affiliate(paris, .outcast, in: room, by: romeo)
    let before = try await whole(stage, room, juliet)
    #expect(before.list == ["romeo": .owner, "juliet": .member])
    // An admin sees the banned users, also those of before.
    try await stage.affiliate(juliet, .admin, in: room, by: romeo)
    let enteredRoom = try await enter(stage, room, juliet, .since(before.version))
    #expect(isWhole(enteredRoom.list))
    #expect(try applied(enteredRoom.list, to: before.list) == ["romeo": .owner, "juliet": .admin, "paris": .outcast])
    // A user who was removed and comes back does not learn the changes in between.
    try await stage.affiliate(juliet, .none, in: room, by: romeo)
    try await stage.affiliate(paris, .none, in: room, by: romeo)
    try await stage.affiliate(juliet, .member, in: room, by: romeo)
    let again = try await enter(stage, room, juliet, .since(before.version))
    #expect(isWhole(again.list))
    #expect(try applied(again.list, to: before.list) == ["romeo": .owner, "juliet": .member])
  }

  @Test func theListIsForThoseWhoMayReadIt() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("paris")
    )
    let nurse = try await stage.user("nurse")
    // People are known to those only who look after them.
    let masked = try await stage.room("ball", by: romeo, .open, with: [(juliet, .member), (nurse, .admin)])
    for party in [juliet, paris] {
      for request in [nil, .whole, .since(try await stage.stored(masked).version)] as [MemberListRequest?] {
        let enteredRoom = try await enter(stage, masked, party, request)
        #expect(enteredRoom.listVersion == nil)
        #expect(enteredRoom.list == (request == nil ? .nothing : .refused))
      }
    }
    #expect(try await whole(stage, masked, nurse).list.count == 3)
    // People are known: whoever is there may read who belongs to the room, and gets all of it who does not.
    let square = try await stage.room(
      "square", by: romeo, .open.with { $0.showsAddresses = true }, with: [(juliet, .member)])
    let version = try await stage.stored(square).version
    #expect(try await enter(stage, square, paris, nil).listVersion == version)
    try await stage.affiliate(nurse, .outcast, in: square, by: romeo)
    #expect(try await whole(stage, square, paris).list == ["romeo": .owner, "juliet": .member])
    #expect(isWhole(try await enter(stage, square, paris, .since(version)).list))
    #expect(!isWhole(try await enter(stage, square, romeo, .since(version)).list))
  }

  /// A client that is there learns each version, and from which it follows.
  @Test func eachChangeIsToldOnceAsAStep() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("paris")
    )
    let nurse = try await stage.user("nurse")
    let room = try await stage.room(by: romeo, .open.with { $0.showsAddresses = true })
    let listener = try await stage.seats(room, romeo)[0]
    var version = try await stage.stored(room).version
    func expectStep(_ change: () async throws -> Void) async throws {
      try await change()
      let next = try await stage.stored(room).version
      #expect(next > version)
      #expect(listener.steps() == [MemberListStep(since: version, until: next, readers: .none)])
      version = next
    }
    // Away; with an app; there; put out; and one whom nobody had seen among so many.
    try await expectStep { try await stage.affiliate(paris, .member, in: room, by: romeo) }
    let phone = try await stage.session(juliet, "phone", door: .app)
    try await expectStep { try await stage.affiliate(juliet, .member, in: room, by: romeo) }
    try await stage.enter(room, RecordingSession(nurse))
    #expect(listener.steps() == [])
    try await expectStep { try await stage.affiliate(nurse, .admin, in: room, by: romeo) }
    try await expectStep { try await stage.affiliate(juliet, .none, in: room, by: juliet) }
    try await expectStep { try await stage.affiliate(nurse, .outcast, in: room, by: romeo) }
    for party in try await stage.crowd(Limits.shownOccupantsMax) {
      let session = RecordingSession(party)
      stage.submit(.enter(.address(room.address), stage.entering(session, party.name)), by: session)
    }
    let street = RecordingSession(try await stage.user("tybalt"))
    try await stage.enter(room, street)
    try await expectStep { try await stage.affiliate(street.party, .outcast, in: room, by: romeo) }
    let late = try await stage.user("late")
    let tablet = try await stage.session(late, "tablet", door: .app)
    try await expectStep { try await stage.affiliate(late, .member, in: room, by: romeo) }
    // A nick is no change of it.
    let draft = MemberDraft(address: paris.address, affiliation: nil, nick: "County")
    try await stage.act(.members(.dialog(room.dialog), [draft]), by: romeo)
    #expect(listener.steps() == [])
    #expect(try await stage.stored(room).version == version)
    _ = (phone, tablet)
  }

  @Test func aListHasItsLength() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let room = try await stage.room(by: romeo)
    let first = try await stage.stored(room).version
    let crowd = try await stage.crowd(Limits.memberListMax)
    func add(_ parties: ArraySlice<Party>) async throws {
      try await stage.parley.work { writer in
        guard var stored = try writer.room(room.dialog) else { throw StageError.full }
        for party in parties {
          stored.version = stored.version.next
          try writer.put(
            Member(
              room: room.dialog, party: party, affiliation: .member, nick: nil, since: stored.version,
              joinedAt: stored.createdAt, version: stored.version),
            ordinal: 0)
        }
        try writer.update(stored)
      }
    }
    try await add(crowd.prefix(Limits.memberListChangesMax))
    #expect(!isWhole(try await enter(stage, room, romeo, .since(first)).list))
    try await add(crowd.dropFirst(Limits.memberListChangesMax).prefix(1))
    let behind = try await enter(stage, room, romeo, .since(first))
    #expect(isWhole(behind.list))
    #expect(try applied(behind.list, to: [:]).count == Limits.memberListChangesMax + 2)
    try await add(crowd.dropFirst(Limits.memberListChangesMax + 1).dropLast(1))
    #expect(try await whole(stage, room, romeo).list.count == Limits.memberListMax)
    try await add(crowd.suffix(1))
    let above = try await enter(stage, room, romeo, .whole)
    #expect(above.listVersion == nil && above.list == .nothing)
  }

  /// The same numbers each time (splitmix64).
  private struct Dice: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state &+= 0x9e37_79b9_7f4a_7c15
      var mixed = state
      mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
      mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
      return mixed ^ (mixed >> 31)
    }
  }
}
