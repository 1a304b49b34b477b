import Addresses
import Basics
import Dialogs
import DialogsFixtures
import Logging
import Testing

/// Temporary rooms end with their last occupant, and destroyed ones can be made again.
@Suite struct RoomEndingTests {
  private let address: BareJID

  init() throws { address = try BareJID("verona@conference.localhost") }

  /// Makes an instant room as an XMPP client does.
  private func instant(
    _ stage: Stage, by session: RecordingSession, _ address: BareJID? = nil
  ) async throws -> RoomName {
    let address = address ?? self.address
    try await stage.act(.enter(.address(address), stage.entering(session, session.party.name)), by: session)
    let made = try await stage.act(.configure(.address(address), .change { $0 = .instant }), by: session)
    return try #require(made.room).name
  }

  private func room(_ stage: Stage, _ at: BareJID? = nil) async throws -> Room? {
    let address = at ?? self.address
    return try await stage.parley.read { try $0.room(at: address) }
  }

  // MARK: Temporary rooms

  @Test func theOrderOfTheLastLeaveAndAJoinDecides() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let (first, second) = (RecordingSession(romeo), RecordingSession(juliet))
    let room = try await instant(stage, by: first)
    // The join comes first: the room stays.
    try await stage.together(romeo) {
      stage.submit(.enter(.address(address), stage.entering(second, "juliet")), by: second)
      stage.submit(.exit(.address(address), nil), by: first)
    }
    #expect(try await self.room(stage)?.id == room.dialog)
    // The leave comes first: the one who enters makes another room.
    var token: UInt64 = 0
    try await stage.together(romeo) {
      stage.submit(.vacate(second.id), by: second)
      token = stage.submit(.enter(.address(address), stage.entering(first, "romeo")), by: first)
    }
    let outcome = try #require(first.outcome(of: token))
    let entered = try outcome.get().value as? EnteredRoom
    #expect(entered?.own.ownCodes == [201])
    #expect(try await self.room(stage) == nil)
    let next = try await stage.act(.configure(.address(address), .change { $0 = .instant }), by: first).room
    #expect(next != nil && next?.id != room.dialog)
  }

  @Test func aBatchThatFailsLeavesTheRoom() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let session = RecordingSession(romeo)
    let room = try await instant(stage, by: session)
    try await stage.failing(.exit(.address(address), nil), by: session)
    #expect(try await self.room(stage)?.id == room.dialog)
    try await stage.say("still here", in: room, by: session)
    try await stage.together(romeo) {
      stage.submit(.exit(.address(address), nil), by: session)
      stage.submitPoison(session)
    }
    #expect(try await self.room(stage) == nil)
  }

  @Test func everySessionCountsAndSoDoesTheOneThatResumed() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let (old, heir, other) = (RecordingSession(romeo), RecordingSession(romeo), RecordingSession(romeo))
    let room = try await instant(stage, by: old)
    try await stage.enter(room, other)
    try await stage.act(.exit(.address(address), nil), by: other)
    try await stage.parley.post(.handOver(from: old, to: heir), by: romeo)
    try await stage.act(.vacate(old.id), by: romeo)
    #expect(try await self.room(stage) != nil)
    try await stage.act(.vacate(heir.id), by: romeo)
    #expect(try await self.room(stage) == nil)
    // An app session of the owner's is an occupant too.
    _ = try await instant(stage, by: other)
    let phone = try await stage.session(romeo, "phone", door: .app)
    try await stage.act(.exit(.address(address), nil), by: other)
    #expect(try await self.room(stage) != nil)
    _ = phone.taken()
    try await stage.act(.vacate(phone.id), by: romeo)
    #expect(try await self.room(stage) == nil)
  }

  @Test func nothingOfItRemains() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let (first, second) = (RecordingSession(romeo), RecordingSession(juliet))
    let room = try await instant(stage, by: first)
    let count = 2 * Limits.removedEntriesAtOnce
    try await stage.enter(room, second)
    for number in 0..<count { _ = stage.submit(.say(.address(address), stage.draft("\(number)")), by: first) }
    try await stage.affiliate(juliet, .member, in: room, by: romeo)
    let start = try await stage.parley.read { try $0.head().position }
    try await stage.act(.exit(.address(address), nil), by: first)
    try await stage.act(.exit(.address(address), nil), by: second)
    // As often as it is posted behind others.
    for _ in 0..<8 { try await stage.settle(romeo) }
    let left = try await stage.parley.read { reader in
      try reader.history(
        of: .server(room.dialog, .rules), after: .zero, before: .end, limit: 2 * count, ascending: true
      ).count
    }
    #expect(left == 1)
    #expect(try await stage.parley.read { try $0.temporaryRooms(after: DialogID(0), limit: 9) } == [])
    #expect(try await stage.member(juliet, of: room) == nil)
    #expect(try await stage.parley.read { try $0.memberships(of: romeo.id).count } == 0)
    // What the server had bookmarked for a member is gone with it.
    let bookmark = try await stage.parley.read {
      try $0.item(room.address.description, in: Bookmark.node, of: juliet.id)
    }
    #expect(bookmark == nil)
    for user in [romeo, juliet] {
      let told = try await stage.parley.read {
        try $0.feed(of: .server(user.id, rooms: [], .rules), after: start, limit: 99, all: true)
      }
      let isTold = told.contains { entry in
        if case .room(let change) = entry.fact, case .destroyed = change.change { true } else { false }
      }
      #expect(isTold)
    }
  }

  @Test func aSessionThatEndsLeavesManyRoomsAndAllOfThemEnd() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let session = RecordingSession(romeo)
    for number in 0..<Limits.endedRoomsAtOnce + 5 {
      _ = try await instant(stage, by: session, BareJID("room\(number)@conference.localhost"))
    }
    try await stage.act(.vacate(session.id), by: romeo)
    // A batch has a bounded part of it.
    for _ in 0..<16 { try await stage.settle(romeo) }
    #expect(try await stage.parley.read { try $0.temporaryRooms(after: DialogID(0), limit: 999) } == [])
    #expect(try await stage.parley.read { try $0.memberships(of: romeo.id).count } == 0)
  }

  @Test func aStartEndsTheRoomsThatACrashLeft() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let session = RecordingSession(romeo)
    let temporary = try await instant(stage, by: session)
    let persistent = try await stage.room("mantua", by: romeo)
    // The first process is as if it was killed: nobody has left.
    let next = try Parley(
      store: stage.store, clock: stage.clock, options: Parley.Options(domains: ["localhost"]),
      logger: Logger(label: "next") { _ in SwiftLogNoOpLogHandler() })
    for _ in 0..<3 { try await next.post(.confirm(.zero), by: romeo) }
    #expect(try await next.read { try $0.room(at: temporary.address) } == nil)
    #expect(try await next.read { try $0.temporaryRooms(after: DialogID(0), limit: 9) } == [])
    #expect(try await next.read { try $0.room(at: persistent.address)?.isDestroyed } == false)
    await next.stop()
  }

  @Test func aTemporaryRoomThatIsRolledBackIsNotCounted() async throws {
    let stage = try Stage()
    let session = RecordingSession(try await stage.user("romeo"))
    try await stage.act(.enter(.address(address), stage.entering(session, "romeo")), by: session)
    func make() async throws {
      try await stage.act(.configure(.address(address), .change { $0 = .instant }), by: session)
    }
    for _ in 0..<Limits.temporaryRoomRate.burst {
      stage.store.failNext(1)
      await #expect(throws: Problem.storage) { try await make() }
    }
    #expect(try await room(stage) == nil)
    try await make()
    #expect(try await room(stage)?.settings.isPersistent == false)
  }

  @Test func temporaryRoomsAreMadeAtARate() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let session = RecordingSession(romeo)
    for _ in 0..<Limits.temporaryRoomRate.burst {
      _ = try await instant(stage, by: session)
      try await stage.act(.exit(.address(address), nil), by: session)
    }
    #expect(try await problem { _ = try await instant(stage, by: session) }?.code == "rooms-too-fast")
    // It is still being set up, and may be persistent.
    let made = try await stage.act(
      .configure(
        .address(address),
        .change {
          $0 = .instant
          $0.isPersistent = true
        }), by: session)
    #expect(made.room?.settings.isPersistent == true)
  }

  @Test func whoIsAddedByTheAppKeepsTheRoom() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let session = RecordingSession(romeo)
    let room = try await instant(stage, by: session)
    // A member whom an XMPP client adds does not.
    try await stage.affiliate(juliet, .member, in: room, by: romeo)
    #expect(try await stage.stored(room).settings.lifetime == .temporary)
    try await stage.affiliate(juliet, .none, in: room, by: romeo)
    _ = session.taken()
    let draft = MemberDraft(address: juliet.address, affiliation: .member, keepsRoom: true)
    try await stage.act(.members(.dialog(room.dialog), [draft]), by: romeo)
    #expect(session.effects().contains(.notice(.settings(codes: [104]))))
    let temporary = SettingsDraft.change { $0.isPersistent = false }
    #expect(
      try await problem { try await stage.act(.configure(.address(address), temporary), by: session) } == .roomKept)
    try await stage.act(.exit(.address(address), nil), by: session)
    #expect(try await self.room(stage)?.settings.lifetime == .kept)
  }

  @Test func anEmptyRoomThatBecomesTemporaryEnds() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let session = RecordingSession(romeo)
    let room = try await instant(stage, by: session)
    try await stage.act(.configure(.address(address), .change { $0.isPersistent = true }), by: session)
    try await stage.act(.exit(.address(address), nil), by: session)
    #expect(try await self.room(stage)?.id == room.dialog)
    try await stage.act(.configure(.address(address), .change { $0.isPersistent = false }), by: session)
    #expect(try await self.room(stage) == nil)
  }

  // MARK: Destroyed rooms

  /// A room with more people than one post removes.
  private func large(_ stage: Stage, _ owner: Party, _ crowd: [Party]) async throws -> RoomName {
    let room = try await stage.room(by: owner, .open)
    for start in stride(from: 0, to: crowd.count, by: Limits.memberChangesMax) {
      let drafts = crowd[start..<min(start + Limits.memberChangesMax, crowd.count)].map {
        MemberDraft(address: $0.address, affiliation: .member)
      }
      try await stage.act(.members(.dialog(room.dialog), drafts), by: owner)
    }
    return room
  }

  private func ends(_ stage: Stage, _ party: Party, after start: Position) async throws -> Int {
    try await stage.parley.read { reader in
      let page = try reader.page(of: .withMemberships(of: party), after: start, limit: 99, all: true)
      return page.entries.count { entry in
        if case .room(let change) = entry.fact, case .destroyed = change.change { true } else { false }
      }
    }
  }

  /// The room is closed at once, and its people leave in pieces, in each of which the rows are bounded.
  @Test func thePeopleOfALargeRoomLeaveInPieces() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let crowd = try await stage.crowd(5 * Limits.memberChangesAtOnce)
    let room = try await large(stage, romeo, crowd)
    let seats = try await stage.seats(room, romeo, crowd[0], juliet)
    let last = crowd[crowd.count - 1]
    let phone = try await stage.session(last, "phone", door: .app)
    for session in seats + [phone] { _ = session.taken() }
    let start = try await stage.parley.read { try $0.head().position }
    var closed: UInt64 = 0
    let stranger = RecordingSession(juliet)
    try await stage.together(romeo) {
      stage.submit(.destroy(.dialog(room.dialog), reason: "Dawn", alternate: nil), by: seats[0])
      closed = stage.submit(.say(.dialog(room.dialog), stage.draft("too late")), by: seats[1])
      stage.submit(.enter(.address(room.address), stage.entering(stranger, "juliet")), by: stranger)
    }
    guard case .failure(let problem)? = seats[1].outcome(of: closed) else { throw StageError.full }
    #expect(problem == .roomDestroyed)
    #expect(stranger.effects() == [])
    for _ in 0..<8 { try await stage.settle(romeo) }
    for party in [romeo] + crowd {
      #expect(try await stage.parley.read { try $0.memberships(of: party.id).count } == 0)
      #expect(try await ends(stage, party, after: start) == 1)
    }
    #expect(try await stage.stored(room).isEnding == false)
    // Each is told once.
    for (session, nick) in zip(seats, ["romeo", crowd[0].name, "juliet"]) {
      #expect(session.effects() == [.occupant(nick, .none, codes: [], .roomOwn)])
    }
    #expect(phone.effects().count { $0 == .noted(.destroyed(reason: "Dawn", alternate: nil)) } == 1)
    #expect(try await stage.parley.read { try $0.temporaryRooms(after: DialogID(0), limit: 9) } == [])
  }

  /// The process ends behind the first piece: the next one goes on.
  @Test func aStartGoesOnWithTheEndOfARoom() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let crowd = try await stage.crowd(3 * Limits.memberChangesAtOnce)
    let room = try await large(stage, romeo, crowd)
    let start = try await stage.parley.read { try $0.head().position }
    // The second piece fails, alone or with the post beside it, and what follows from it is lost.
    stage.store.failNext(3, after: 1)
    try await stage.act(.destroy(.dialog(room.dialog), reason: nil, alternate: nil), by: romeo)
    for _ in 0..<3 { try? await stage.settle(romeo) }
    let ending = try await stage.stored(room)
    #expect(ending.isDestroyed && ending.isEnding)
    let left = crowd[crowd.count - 1]
    #expect(try await stage.parley.read { try $0.memberships(of: left.id).count } == 1)
    // Nothing shows it to them, and their sessions find the end.
    #expect(try await stage.parley.read { try $0.rooms(of: .own(left), before: .end, limit: 9).count } == 0)
    #expect(try await ends(stage, left, after: start) == 1)
    let make = RoomIntent.create(RoomDraft(localpart: room.address.local, settings: .group))
    #expect(try await problem { try await stage.act(make, by: romeo) } == .roomTaken)
    let next = try Parley(
      store: stage.store, clock: stage.clock, options: Parley.Options(domains: ["localhost"]),
      logger: Logger(label: "next") { _ in SwiftLogNoOpLogHandler() })
    for _ in 0..<8 { try await next.post(.confirm(.zero), by: romeo) }
    #expect(try await next.read { try $0.room(room.dialog)?.isEnding } == false)
    #expect(try await next.read { try $0.memberships(of: left.id).count } == 0)
    for party in crowd { #expect(try await ends(stage, party, after: start) == 1) }
    #expect(try await next.read { try $0.temporaryRooms(after: DialogID(0), limit: 9) } == [])
    _ = try await next.post(.room(make), by: romeo)
    await next.stop()
  }

  /// A client that is refused for good forgets the room.
  @Test func whoEntersATemporaryRoomThatIsEndingMayDoSoSoon() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let (first, second) = (RecordingSession(romeo), RecordingSession(juliet))
    let room = try await instant(stage, by: first)
    let outcasts = try await stage.crowd(Limits.memberChangesAtOnce).map {
      MemberDraft(address: $0.address, affiliation: .outcast)
    }
    try await stage.act(.members(.address(address), outcasts), by: first)
    var entering: UInt64 = 0
    try await stage.together(romeo) {
      stage.submit(.exit(.address(address), nil), by: first)
      entering = stage.submit(.enter(.address(address), stage.entering(second, "juliet")), by: second)
    }
    #expect(try await stage.stored(room).isDestroyed)
    guard case .failure(let problem)? = second.outcome(of: entering) else { throw StageError.full }
    #expect(problem == .roomEnding)
    for _ in 0..<3 { try await stage.settle(romeo) }
    #expect(try await stage.stored(room).isAddressFree)
    try await stage.act(.enter(.address(address), stage.entering(second, "juliet")), by: second)
  }

  /// Of many rooms that end at once a batch has so many rows.
  @Test func roomsThatEndTogetherTakeTurns() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let crowd = try await stage.crowd(Limits.memberChangesAtOnce)
    var rooms: [RoomName] = []
    for number in 0..<12 {
      let name = try await stage.room("room\(number)", by: romeo)
      try await stage.act(
        .members(.dialog(name.dialog), crowd.map { MemberDraft(address: $0.address, affiliation: .member) }), by: romeo)
      rooms.append(name)
    }
    let session = RecordingSession(romeo)
    let all = rooms
    // What follows the batch in which all are destroyed is lost.
    stage.store.failNext(99, after: 2)
    try? await stage.together(romeo) {
      for room in all { stage.submit(.destroy(.dialog(room.dialog), reason: nil, alternate: nil), by: session) }
    }
    for _ in 0..<2 { try? await stage.settle(romeo) }
    stage.store.failNext(0)
    for room in all { #expect(try await stage.stored(room).isDestroyed) }
    let left = try await stage.parley.read { try $0.memberships(of: crowd[0].id).count }
    #expect(left > 0 && left < all.count)
    stage.parley.continueRoomEnds()
    var settles = 0
    func isEnding() async throws -> Bool {
      try await stage.parley.read { reader in try all.contains { try reader.room($0.dialog)?.isEnding == true } }
    }
    while try await isEnding() {
      try await stage.settle(romeo)
      settles += 1
      if settles > 99 { throw StageError.full }
    }
    #expect(try await stage.parley.read { try $0.memberships(of: crowd[0].id).count } == 0)
  }

  /// What a hold has kept is removed by the next start, also if the room has been made again: that one keeps its bookmarks.
  @Test func whatADestroyedRoomHadIsRemoved() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room(by: romeo)
    let held = try await stage.room("mantua", by: romeo, with: [(juliet, .member)])
    let count = 2 * Limits.removedEntriesAtOnce + 1
    try stage.store.write { writer in
      for id in [room.dialog, held.dialog] {
        for number in 0..<count {
          try writer.setValue(of: id, node: ValueKey.bans, item: "spam\(number)@elsewhere.example", [])
        }
      }
      try writer.put(Hold(.dialog(held.dialog), in: romeo.realm, note: nil, since: stage.clock.now))
    }
    func bans(in room: RoomName) async throws -> Int {
      try await stage.parley.read { try $0.addressBans(of: .server(room.dialog, .rules)).count }
    }
    for id in [room.dialog, held.dialog] {
      try await stage.act(.destroy(.dialog(id), reason: nil, alternate: nil), by: romeo)
    }
    // As often as it is posted behind others.
    for _ in 0..<8 { try await stage.settle(romeo) }
    #expect(try await bans(in: room) == 0)
    #expect(try await bans(in: held) == count)

    let again = try await stage.room("mantua", by: romeo, with: [(juliet, .member)])
    try stage.store.write { writer in
      for hold in try writer.holds(in: nil) { try writer.remove(hold) }
    }
    let next = try Parley(
      store: stage.store, clock: stage.clock, options: Parley.Options(domains: ["localhost"]),
      logger: Logger(label: "next") { _ in SwiftLogNoOpLogHandler() })
    for _ in 0..<8 { try await next.post(.confirm(.zero), by: romeo) }
    #expect(try await bans(in: held) == 0)
    #expect(try await next.read { try $0.temporaryRooms(after: DialogID(0), limit: 9) } == [])
    let bookmark = try await next.read {
      try $0.item(again.address.description, in: Bookmark.node, of: juliet.id)
    }
    #expect(bookmark != nil)
    await next.stop()
  }

  @Test func aFormerOwnerMakesADestroyedRoomAgainAtOnceAndOthersLater() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let (first, second) = (RecordingSession(romeo), RecordingSession(juliet))
    func make(_ session: RecordingSession) async throws -> Room? {
      try await stage.act(.enter(.address(address), stage.entering(session, session.party.name)), by: session)
      return try await stage.act(.configure(.address(address), .change { $0 = .group }), by: session).room
    }
    let room = try await stage.room(by: romeo, with: [(juliet, .admin)])
    try await stage.act(.destroy(.dialog(room.dialog), reason: nil, alternate: nil), by: romeo)
    #expect(try await problem { _ = try await make(second) } == .roomDestroyed)
    let again = try #require(try await make(first))
    #expect(again.id != room.dialog)
    #expect(again.address == room.address)
    #expect(try await stage.parley.read { try $0.memberships(of: juliet.id).count } == 0)

    try await stage.act(.destroy(.dialog(again.id), reason: nil, alternate: nil), by: romeo)
    let span = Limits.tombstoneTime.components.seconds * 1_000
    let end = stage.clock.now.milliseconds + span
    stage.clock.set(end - 1)
    #expect(try await problem { _ = try await make(second) } == .roomDestroyed)
    stage.clock.set(end)
    let last = try #require(try await make(second))
    #expect(try await stage.member(juliet, of: last.name)?.affiliation == .owner)
    #expect(
      try await problem { _ = try await stage.act(.enter(.dialog(room.dialog), stage.entering(first, "r")), by: first) }
        != nil)
  }
}
