import Addresses
import DialogsFixtures
import Testing

@testable import Dialogs

/// The users elsewhere who may be in rooms here: the operator's decision and the owners' (`RemoteRoomPolicy.swift`).
@Suite struct RemoteRoomTests {
  private func stage(
    _ policy: RemoteRoomPolicy, listing address: BareJID? = nil
  ) throws -> Stage {
    let stage = try Stage()
    let service = FederationTests.Service(refusing: [], rooms: policy)
    if let address { service.list(address) }
    stage.parley.hub.setFederation(service)
    return stage
  }

  private func elsewhere(_ address: String, _ stage: Stage) throws -> Party {
    Party(remote: try BareJID(address), realm: stage.parley.federatedRealm(of: stage.parley.realms[0].id).id)
  }

  private static let open = RoomSettings.group.with { $0.isMembersOnly = false }

  /// Introduces somebody as the door does, and lets them enter.
  private func enter(_ room: RoomName, _ party: Party, _ stage: Stage) async throws -> RecordingSession {
    let known = try #require(
      try await stage.act(.introduce(.address(room.address), password: nil), by: party).value as? Party)
    let session = RecordingSession(known)
    try await stage.enter(room, session, party.address.local)
    _ = session.taken()
    return session
  }

  private func stored(_ party: Party, _ stage: Stage) async throws -> User? {
    try await stage.parley.read { try $0.user(party.address, seenFrom: party.realm) }
  }

  @Test func whereRoomsAreForUsersOfThisServerNobodyElsewhereComes() async throws {
    let stage = try stage(.off)
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, Self.open, with: [(juliet, .member)])
    let mercutio = try elsewhere("mercutio@verona.example", stage)
    await #expect(throws: Problem.roomsNotFederated) { try await enter(room, mercutio, stage) }
    await #expect(throws: Problem.roomsNotFederated) {
      try await stage.affiliate(mercutio, .member, in: room, by: romeo)
    }
    await #expect(throws: Problem.roomsNotFederated) {
      try await stage.act(.invite(.dialog(room.dialog), to: mercutio.address, reason: nil), by: romeo)
    }
    for intent in [RoomIntent.place(.address(room.address)), .register(.address(room.address), nick: "M")] {
      await #expect(throws: Problem.roomsNotFederated) { try await stage.act(intent, by: mercutio) }
    }
    #expect(try await stored(mercutio, stage) == nil)
    #expect(stage.parley.hub.refusalOfRooms(to: mercutio) == .roomsNotFederated)
    // Users here notice nothing, and a ban may be written for later.
    #expect(stage.parley.hub.refusalOfRooms(to: romeo) == nil)
    let seats = try await stage.seats(room, romeo, juliet)
    try await stage.say("hi", in: room, by: seats[1])
    try await stage.affiliate(mercutio, .outcast, in: room, by: romeo)
  }

  @Test func membersElsewhereMayBeTheOnlyOnes() async throws {
    let stage = try stage(.members)
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, Self.open)
    let mercutio = try elsewhere("mercutio@verona.example", stage)
    await #expect(throws: Problem.roomMembersElsewhere) { try await enter(room, mercutio, stage) }
    // Nor do they become members by themselves, or by an invitation that makes none.
    await #expect(throws: Problem.roomMembersElsewhere) {
      try await stage.act(.register(.address(room.address), nick: "M"), by: mercutio)
    }
    await #expect(throws: Problem.roomMembersElsewhere) {
      try await stage.act(.invite(.dialog(room.dialog), to: mercutio.address, reason: nil), by: romeo)
    }
    // A user here enters the open room as before.
    let seats = try await stage.seats(room, romeo, juliet)
    try await stage.affiliate(mercutio, .member, in: room, by: romeo)
    let session = try await enter(room, mercutio, stage)
    try await stage.say("a plague", in: room, by: session)
    _ = seats.map { $0.taken() }
    // With the affiliation goes the seat, although the room is open.
    let known = try #require(try await stored(mercutio, stage)).party
    try await stage.affiliate(known, .none, in: room, by: romeo)
    #expect(seats[1].effects().last == .occupant("mercutio", .none, codes: [321], .roomOpen))
    await #expect(throws: Problem.roomMembersElsewhere) { try await enter(room, mercutio, stage) }
    // In a room for members an invitation makes one.
    let closed = try await stage.room("closed", by: romeo)
    try await stage.act(.invite(.dialog(closed.dialog), to: mercutio.address, reason: nil), by: romeo)
    #expect(try await stage.member(known, of: closed)?.affiliation == .member)
  }

  @Test func aRoomThatIsClosedToOtherServersPutsTheirUsersOut() async throws {
    let stage = try stage(.open)
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, Self.open)
    let (mercutio, tybalt) = (
      try elsewhere("mercutio@verona.example", stage), try elsewhere("tybalt@capulet.example", stage)
    )
    let seats = try await stage.seats(room, romeo, juliet)
    let session = try await enter(room, mercutio, stage)
    let known = session.party
    try await stage.affiliate(known, .member, in: room, by: romeo)
    _ = (seats.map { $0.taken() }, session.taken())
    try await stage.act(.configure(.dialog(room.dialog), .change { $0.acceptsRemote = false }), by: romeo)
    #expect(session.effects().contains(.occupant("mercutio", .none, codes: [307], .roomOwn)))
    #expect(seats[1].effects().contains(.occupant("mercutio", .none, codes: [307], .roomOpen)))
    for party in [mercutio, tybalt] {
      await #expect(throws: Problem.roomNotFederated) { try await enter(room, party, stage) }
      await #expect(throws: Problem.roomNotFederated) { try await stage.act(.place(.address(room.address)), by: party) }
    }
    await #expect(throws: Problem.roomNotFederated) {
      try await stage.affiliate(tybalt, .member, in: room, by: romeo)
    }
    #expect(try await stored(tybalt, stage) == nil)
    try await stage.say("they are gone", in: room, by: seats[1])
    // Members stay members, and come back when the room is opened again.
    #expect(try await stage.member(known, of: room)?.affiliation == .member)
    try await stage.act(.configure(.dialog(room.dialog), .change { $0.acceptsRemote = true }), by: romeo)
    _ = try await enter(room, mercutio, stage)
  }

  @Test func anOwnerElsewhereDoesNotCloseTheRoomToThemselves() async throws {
    let stage = try stage(.open)
    let (romeo, _, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, Self.open)
    let mercutio = try elsewhere("mercutio@verona.example", stage)
    try await stage.affiliate(mercutio, .owner, in: room, by: romeo)
    let session = try await enter(room, mercutio, stage)
    await #expect(throws: Problem.roomOwnerElsewhere) {
      try await stage.act(.configure(.address(room.address), .change { $0.acceptsRemote = false }), by: session)
    }
    #expect(try await stage.stored(room).settings.acceptsRemote)
  }

  @Test func whoIsListedIsInRoomsOnlyAsAMember() async throws {
    let stage = try stage(.open, listing: try BareJID("tybalt@capulet.example"))
    let (romeo, _, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, Self.open)
    let (tybalt, mercutio) = (
      try elsewhere("tybalt@capulet.example", stage), try elsewhere("mercutio@verona.example", stage)
    )
    await #expect(throws: Problem.addressListed) { try await enter(room, tybalt, stage) }
    await #expect(throws: Problem.addressListed) {
      try await stage.act(.register(.address(room.address), nick: "T"), by: tybalt)
    }
    #expect(try await stored(tybalt, stage) == nil)
    // Whoever is listed while they are there says nothing more, and may leave.
    let session = try await enter(room, mercutio, stage)
    let service = try #require(stage.parley.hub.federation as? FederationTests.Service)
    service.list(mercutio.address)
    await #expect(throws: Problem.addressListed) { try await stage.say("buy", in: room, by: session) }
    try await stage.affiliate(session.party, .member, in: room, by: romeo)
    try await stage.say("a plague", in: room, by: session)
    try await stage.affiliate(session.party, .none, in: room, by: romeo)
    try await stage.act(.exit(.address(room.address), stage.presence(session, .offline)), by: session)
    // An admin who knows them makes them a member all the same.
    try await stage.affiliate(tybalt, .member, in: room, by: romeo)
    _ = try await enter(room, tybalt, stage)
  }
}
