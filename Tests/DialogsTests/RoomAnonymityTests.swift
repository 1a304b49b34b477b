import Addresses
import Dialogs
import DialogsFixtures
import Testing

/// In a room that shows addresses to moderators only, the committer states with each delivery whether the receiving app
/// session may know the user concerned.
@Suite struct RoomAnonymityTests {
  private struct Scene {
    let stage: Stage
    let (romeo, juliet, paris): (Party, Party, Party)
    let room: RoomName
    /// An admin's and a plain member's.
    let (above, below): (RecordingSession, RecordingSession)
  }

  private func scene(_ settings: RoomSettings = .open) async throws -> Scene {
    let stage = try Stage()
    let (romeo, juliet, paris) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("paris")
    )
    let room = try await stage.room(by: romeo, settings, with: [(juliet, .admin), (paris, .member)])
    return Scene(
      stage: stage, romeo: romeo, juliet: juliet, paris: paris, room: room,
      above: try await stage.session(juliet, "phone", door: .app),
      below: try await stage.session(paris, "phone", door: .app))
  }

  @Test func adminsSeeAndMembersDoNot() async throws {
    let s = try await scene()
    let receipt = try await s.stage.say("hi", in: s.room, by: s.romeo)
    #expect(!receipt.isAnonymized)
    #expect(s.above.effects() == [.said("hi", .feed)])
    #expect(s.below.effects() == [.said("hi", .feedAnonymized)])
    #expect(try await s.stage.say("ho", in: s.room, by: s.paris).isAnonymized)
    _ = (s.above.taken(), s.below.taken())
    let typing = RelayedStanza(
      name: .message(.groupchat), from: s.romeo, fromResource: nil, to: s.room.address, toResource: nil, id: nil,
      extras: [], typing: true)
    try await s.stage.act(.signal(.dialog(s.room.dialog), typing), by: s.romeo)
    #expect(s.above.effects() == [.relayed(.feed)])
    #expect(s.below.effects() == [.relayed(.feedAnonymized)])
  }

  @Test func addressesAreShownWhereEverybodyIsKnown() async throws {
    let s = try await scene(.group)
    #expect(!(try await s.stage.say("hi", in: s.room, by: s.paris).isAnonymized))
    #expect(s.below.effects() == [.said("hi", .feed)])
  }

  @Test func aPromotedMemberSeesAddressesAndADemotedOneDoesNot() async throws {
    let s = try await scene()
    try await s.stage.affiliate(s.paris, .admin, in: s.room, by: s.romeo)
    try await s.stage.affiliate(s.juliet, .member, in: s.room, by: s.romeo)
    _ = (s.above.taken(), s.below.taken())
    try await s.stage.say("hi", in: s.room, by: s.romeo)
    #expect(s.above.effects() == [.said("hi", .feedAnonymized)])
    #expect(s.below.effects() == [.said("hi", .feed)])
    // A session that comes later gets the same.
    let later = try await s.stage.session(s.juliet, "later", door: .app)
    try await s.stage.say("ho", in: s.room, by: s.romeo)
    #expect(later.effects() == [.said("ho", .feedAnonymized)])
  }

  @Test func settingsCountFromTheirChangeOn() async throws {
    let s = try await scene()
    try await s.stage.act(.configure(.dialog(s.room.dialog), .change { $0.showsAddresses = true }), by: s.romeo)
    _ = s.below.taken()
    try await s.stage.say("hi", in: s.room, by: s.romeo)
    try await s.stage.act(.configure(.dialog(s.room.dialog), .change { $0.showsAddresses = false }), by: s.romeo)
    try await s.stage.say("ho", in: s.room, by: s.romeo)
    let said = s.below.effects().filter { if case .said = $0 { true } else { false } }
    #expect(said == [.said("hi", .feed), .said("ho", .feedAnonymized)])
  }

  /// A user who is added as an admin may know by whom.
  @Test(arguments: [(Affiliation.member, true), (.admin, false)])
  func invitationsSayNoMore(affiliation: Affiliation, isAnonymized: Bool) async throws {
    let s = try await scene()
    let nurse = try await s.stage.user("nurse")
    let phone = try await s.stage.session(nurse, "phone", door: .app)
    try await s.stage.affiliate(nurse, affiliation, in: s.room, by: s.romeo)
    let forms = phone.forms()
    #expect(forms.count == 2)
    #expect(Set(forms) == [isAnonymized ? .feedAnonymized : .feed])
  }

  /// A nick that the server makes up is no localpart there.
  @Test func nobodyIsNamedByTheirAddress() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let guests = try await stage.crowd(3)
    let hidden = try await stage.room("hidden", by: romeo, .open)
    let shown = try await stage.room("shown", by: romeo, .group)
    for guest in guests {
      _ = try await stage.session(guest, "phone", door: .app)
      try await stage.affiliate(guest, .member, in: hidden, by: romeo)
      try await stage.affiliate(guest, .member, in: shown, by: romeo)
      let nick = try #require(try await stage.member(guest, of: hidden)?.nick)
      #expect(!nick.contains(guest.name) && nick.hasPrefix("Guest "))
      #expect(try await stage.member(guest, of: shown)?.nick == guest.name)
    }
  }

  @Test func aPlaceInAListOfPeopleIsOfThatListAlone() async throws {
    let s = try await scene()
    let other = try await s.stage.room("other", by: s.romeo, .open)
    let cursor = s.stage.parley.memberCursor(s.paris.id, in: s.room)
    #expect(s.stage.parley.user(ofMemberCursor: cursor, in: s.room) == s.paris.id)
    #expect(s.stage.parley.memberCursor(s.paris.id, in: other) != cursor)
    #expect(s.stage.parley.user(ofMemberCursor: cursor, in: other) != s.paris.id)
    #expect(s.stage.parley.user(ofMemberCursor: "paris", in: s.room) == nil)
  }
}

extension RecordingSession {
  /// The form of each delivery, without outcomes.
  fileprivate func forms() -> [Form] {
    deliveries().compactMap {
      switch $0 {
      case .entry(_, let form), .signal(_, let form): form
      case .outcome, .handedOver, .owed: nil
      }
    }
  }
}
