import Addresses
import Dialogs
import DialogsFixtures
import Testing

/// A user's place in a room, queried without the list of the others; and whether a list of members is still current.
@Suite struct RoomPlaceTests {
  private func place(_ stage: Stage, _ room: RoomName, _ party: Party) async throws -> Occupancy {
    try #require(try await stage.act(.place(.address(room.address)), by: party).value as? Occupancy)
  }

  @Test func aUserWhoAsksForTheirPlaceIsToldOfNobodyElse() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("paris")
    )
    let room = try await stage.room(by: romeo, .open)
    _ = try await stage.seats(room, romeo, juliet)
    let mine = try await place(stage, room, juliet)
    let listed = try await stage.occupancy(room, for: juliet)
    #expect(mine.occupants.isEmpty)
    #expect(listed.occupants.count == 2)
    for occupancy in [mine, listed] {
      #expect(occupancy.nick == "juliet")
      #expect(occupancy.role == .participant)
      #expect(occupancy.affiliation == .none)
      #expect(occupancy.count == 2)
    }
    let stranger = try await place(stage, room, paris)
    #expect(stranger.nick == nil)
    #expect(stranger.role == .none)
    #expect(stranger.count == 2)
  }

  @Test func theListHasAnotherEditionWhenItIsAnotherList() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("paris")
    )
    let room = try await stage.room(by: romeo, .open)
    let orchard = try await stage.seats(room, romeo)[0]
    let first = try await place(stage, room, romeo).edition
    // Talking, and strangers who come, change no list.
    try await stage.say("hi", in: room, by: orchard)
    try await stage.enter(room, RecordingSession(paris))
    #expect(try await place(stage, room, romeo).edition == first)
    try await stage.affiliate(juliet, .member, in: room, by: romeo)
    let second = try await place(stage, room, romeo).edition
    #expect(second != first)
    // A nick stands in the list.
    let balcony = RecordingSession(juliet)
    try await stage.enter(room, balcony)
    let third = try await place(stage, room, romeo).edition
    try await stage.enter(room, balcony, "Capulet", isJoin: false)
    let fourth = try await place(stage, room, romeo).edition
    #expect(fourth != third)
    // The cached list is dropped: its edition never stands for another list.
    _ = try await stage.parley.work { _ in 0 }
    let fifth = try await place(stage, room, romeo).edition
    #expect(![first, second, third, fourth].contains(fifth))
  }
}
