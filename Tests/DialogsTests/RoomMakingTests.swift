import Addresses
import Dialogs
import DialogsFixtures
import Testing

/// Rooms come to be, and end.
@Suite struct RoomMakingTests {
  // MARK: Coming to be

  @Test func anAppMakesARoomAndItsMembersAreThereFromTheBeginning() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let phone = try await stage.session(juliet, "phone", door: .app)
    let commitLoop = try await stage.session(paris, "desk")
    var draft = RoomDraft(
      settings: .group.with { $0.name = "Verona" }, topic: "Feuds",
      members: [juliet, paris, romeo].map { MemberDraft(address: $0.address, affiliation: nil) })
    draft.externalID = .user(romeo.id, "42")
    let receipt = try await stage.parley.post(.room(.create(draft)), by: romeo)
    let room = try #require(receipt.room)
    #expect(room.memberCount == 3)
    #expect(try await stage.stored(room.name) == room)
    #expect(try await stage.member(romeo, of: room.name)?.affiliation == .owner)
    #expect(try await stage.member(juliet, of: room.name)?.affiliation == .member)
    // The creation, each member, the topic: dense.
    #expect(room.sequence == 4)
    #expect(room.topic?.text == "Feuds")
    let heard = phone.effects()
    #expect(heard.contains(.invited(room.address.description)))
    guard case .noted(.topic)? = heard.last else { throw StageError.full }
    // A user who has only XMPP clients is invited.
    #expect(commitLoop.effects() == [.invited(room.address.description)])

    // The same externalID is the same room.
    let again = try await stage.parley.post(.room(.create(draft)), by: romeo)
    #expect(again.isRepeat)
    #expect(again.room?.name == room.name)
  }

  private func make(
    _ id: ExternalID, by author: Party, settings: RoomSettings = .group, with members: [Party] = [], _ stage: Stage
  ) async throws -> Receipt {
    let drafts = members.map { MemberDraft(address: $0.address, affiliation: .member) }
    return try await stage.parley.post(
      .room(.create(RoomDraft(externalID: id, settings: settings, members: drafts))), by: author)
  }

  /// What a stranger has called so is in nobody's way, and nobody gets it in place of their own.
  @Test(arguments: [RoomSettings.group, .open])
  func anExternalIDIsThatOfItsGiverAlone(_ settings: RoomSettings) async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let strangers = try await make(
      .user(paris.id, "order-17"), by: paris, settings: settings, with: [romeo], stage)
    var rooms = [strangers.room?.id]
    // The victim, who is a member of the stranger's room, somebody else, and the backend in the victim's name.
    for (id, author) in [
      (ExternalID.user(romeo.id, "order-17"), romeo), (ExternalID.user(juliet.id, "order-17"), juliet),
      (ExternalID.backend("order-17"), romeo),
    ] {
      let made = try await make(id, by: author, settings: settings, stage)
      #expect(!made.isRepeat)
      let again = try await make(id, by: author, settings: settings, stage)
      #expect(again.isRepeat && again.room?.id == made.room?.id)
      rooms.append(made.room?.id)
    }
    #expect(Set(rooms.compactMap { $0 }).count == 4)
    let repeated = try await make(.user(paris.id, "order-17"), by: paris, settings: settings, stage)
    #expect(repeated.isRepeat && repeated.room?.id == rooms[0])
  }

  @Test func anExternalIDIsOneRoomInEachSpaceAlsoAtOnce() async throws {
    let stage = try Stage()
    let juliet = try await stage.user("juliet")
    let ids = [ExternalID.user(juliet.id, "x"), .backend("x")]
    let made = try await withThrowingTaskGroup(of: Receipt.self) { group in
      for id in ids + ids + ids {
        group.addTask {
          try await stage.parley.post(.room(.create(RoomDraft(externalID: id, settings: .group))), by: juliet)
        }
      }
      return try await group.reduce(into: [Receipt]()) { $0.append($1) }
    }
    let spaces = Dictionary(grouping: made) { $0.room?.externalID == nil }
    #expect(spaces.count == 2)
    for receipts in spaces.values {
      #expect(receipts.count == 3)
      #expect(receipts.count { !$0.isRepeat } == 1)
      #expect(Set(receipts.map { $0.room?.id }).count == 1)
    }
  }

  /// Nobody else gets the id, and the creator learns nothing more of a group that they have left.
  @Test func anExternalIDIsNotFreeAgain() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let id = ExternalID.user(romeo.id, "42")
    for (settings, code) in [(RoomSettings.group, "external-id-taken"), (.open, nil)] as [(RoomSettings, String?)] {
      let id = ExternalID.user(romeo.id, "left \(code == nil)")
      let room = try #require(try await make(id, by: romeo, settings: settings, with: [juliet], stage).room).name
      try await stage.act(
        .members(.dialog(room.dialog), [MemberDraft(address: juliet.address, affiliation: .owner)]), by: romeo)
      try await stage.act(
        .members(.dialog(room.dialog), [MemberDraft(address: romeo.address, affiliation: Affiliation.none)]), by: romeo)
      let refused = try await problem {
        let again = try await make(id, by: romeo, settings: settings, stage)
        #expect(again.isRepeat && again.room?.id == room.dialog)
      }
      #expect(refused?.code == code)
      #expect(try await stage.member(romeo, of: room)?.affiliation.isMember != true)
    }
    let room = try #require(try await make(id, by: romeo, stage).room)
    try await stage.act(.destroy(.dialog(room.id), reason: nil, alternate: nil), by: romeo)
    #expect(try await problem { _ = try await make(id, by: romeo, stage) } == .roomDestroyed)
  }

  @Test func nobodyIsAMemberTwice() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let twice = [juliet, juliet].map { MemberDraft(address: $0.address, affiliation: .member) }
    let refused = try await problem {
      try await stage.act(.create(RoomDraft(localpart: "verona", settings: .group, members: twice)), by: romeo)
    }
    #expect(refused?.kind == .malformed)
    // Nothing of it was written.
    let room = try await stage.room(by: romeo)
    for drafts in [twice, twice.map { MemberDraft(address: $0.address, affiliation: .admin) }] {
      #expect(
        try await problem { try await stage.act(.members(.dialog(room.dialog), drafts), by: romeo) }?.kind == .malformed
      )
      let form = SettingsDraft(members: drafts) { $0.name = "Verona" }
      #expect(
        try await problem { try await stage.act(.configure(.dialog(room.dialog), form), by: romeo) }?.kind == .malformed
      )
    }
    #expect(try await stage.stored(room).memberCount == 1)
    #expect(try await stage.member(juliet, of: room) == nil)
  }

  @Test func anXMPPClientSetsARoomUpOnAnAddressThatIsNobodys() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let (orchard, balcony) = (RecordingSession(romeo), RecordingSession(juliet))
    let address = try BareJID("verona@conference.localhost")
    let entering = stage.entering(orchard, "Romeo")
    let enteredRoom = try #require(
      try await stage.act(.enter(.address(address), entering), by: orchard).value as? EnteredRoom)
    #expect(enteredRoom.own.ownCodes == [201])
    // 10.1.3: locked for everybody else while it is configured, and not there.
    try await stage.act(.prepare(.address(address)), by: orchard)
    #expect(
      try await problem {
        try await stage.act(.enter(.address(address), stage.entering(balcony, "Juliet")), by: balcony)
      } == .roomLocked)
    #expect(
      try await problem { try await stage.act(.say(.address(address), stage.draft("x")), by: balcony) } == .roomUnknown)
    #expect(try await stage.parley.read { try $0.room(at: address) } == nil)

    let form = SettingsDraft(members: [MemberDraft(address: paris.address, affiliation: .admin)]) { $0.name = "Verona" }
    let receipt = try await stage.act(.configure(.address(address), form), by: orchard)
    let room = try #require(receipt.room).name
    #expect(try await stage.stored(room).memberCount == 2)
    #expect(try await stage.member(paris, of: room)?.affiliation == .admin)
    // The creator is there already.
    try await stage.say("hi", in: room, by: orchard)
    #expect(orchard.effects().last == .said("hi", .room))
  }

  @Test(arguments: ["nobody", "romeo"])
  func aFormThatIsRefusedMakesNoRoom(_ named: String) async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let orchard = RecordingSession(romeo)
    let address = try BareJID("verona@conference.localhost")
    try await stage.act(.enter(.address(address), stage.entering(orchard, "Romeo")), by: orchard)
    _ = orchard.taken()
    // An admin who is nobody; the creator, who would leave the room without an owner.
    let form = SettingsDraft(members: [MemberDraft(address: try BareJID("\(named)@localhost"), affiliation: .admin)]) {
      _ in
    }
    #expect(try await problem { try await stage.act(.configure(.address(address), form), by: orchard) } != nil)
    #expect(try await stage.parley.read { try $0.room(at: address) } == nil)
    #expect(orchard.effects() == [])
    // It is still being set up.
    try await stage.act(.configure(.address(address), .change { _ in }), by: orchard)
    #expect(try await stage.parley.read { try $0.room(at: address) }?.memberCount == 1)
  }

  @Test func anAddressThatIsGivenUpIsFree() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let sessions = [romeo, juliet, paris].map { RecordingSession($0) }
    let address = try BareJID("verona@conference.localhost")
    // Cancelled, left, ended: three ways to give up (10.1.3).
    for (index, session) in sessions.enumerated() {
      try await stage.act(.enter(.address(address), stage.entering(session, "x")), by: session)
      switch index {
      case 0: try await stage.act(.abandon(.address(address)), by: session)
      case 1: try await stage.act(.exit(.address(address), nil), by: session)
      default: try await stage.act(.vacate(session.id), by: session.party)
      }
    }
    try await stage.act(.enter(.address(address), stage.entering(sessions[0], "x")), by: sessions[0])
    #expect(try await stage.parley.read { try $0.room(at: address) } == nil)
  }

  @Test func aResumedSessionGoesOnSettingUp() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let (old, heir) = (RecordingSession(romeo), RecordingSession(romeo))
    let address = try BareJID("verona@conference.localhost")
    try await stage.act(.enter(.address(address), stage.entering(old, "Romeo")), by: old)
    try await stage.parley.post(.handOver(from: old, to: heir), by: romeo)
    _ = old.taken()
    let kept = SettingsDraft.change { $0 = .group }
    let room = try #require(try await stage.act(.configure(.address(address), kept), by: heir).room).name
    try await stage.say("hi", in: room, by: heir)
    #expect(heir.effects().last == .said("hi", .room))
    #expect(old.taken() == [])
    try await stage.act(.vacate(heir.id), by: romeo)
    #expect(try await stage.occupancy(room, for: romeo).count == 0)
  }

  // MARK: The end

  @Test func aDestroyedRoomIsGoneForEverybodyAndItsAddressStaysTaken() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open, with: [(juliet, .admin)])
    let all = try await stage.seats(room, romeo, juliet, paris)
    let phone = try await stage.session(juliet, "phone", door: .app)
    #expect(
      try await problem { try await stage.act(.destroy(.dialog(room.dialog), reason: nil, alternate: nil), by: juliet) }
        == .notOwner)
    for session in all { _ = session.taken() }
    // A message in the same batch as the destruction is delivered before it.
    try await stage.together(romeo) {
      stage.submit(.say(.address(room.address), stage.draft("last words")), by: all[2])
      stage.submit(.destroy(.address(room.address), reason: "Dawn", alternate: nil), by: all[0])
      stage.submit(.say(.address(room.address), stage.draft("too late")), by: all[2])
    }
    // 10.9: each hears of the end from themselves only.
    for (session, nick) in zip(all, ["romeo", "juliet", "paris"]) {
      #expect(session.effects() == [.said("last words", .room), .occupant(nick, .none, codes: [], .roomOwn)])
    }
    #expect(phone.effects() == [.said("last words", .feed), .noted(.destroyed(reason: "Dawn", alternate: nil))])
    for party in [romeo, juliet, paris] {
      #expect(try await problem { try await stage.say("x", in: room, by: party) } == .roomDestroyed)
      if party != romeo {
        #expect(try await problem { try await stage.enter(room, RecordingSession(party)) } == .roomDestroyed)
      }
      #expect(try await stage.parley.read { try $0.memberships(of: party.id).count } == 0)
      #expect(try await stage.unread(party) == 0)
    }
    #expect(try await problem { _ = try await stage.room(by: juliet) } == .roomTaken)
    // Sessions that had a seat end, and nothing is left of it.
    for session in all { try await stage.act(.vacate(session.id), by: session.party) }
  }
}
