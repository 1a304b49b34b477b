import Addresses
import Basics
import DialogsFixtures
import Testing

@testable import Dialogs

/// The memory of what is kept for users who are online, with small bounds.
@Suite struct OnlineMemoryTests {
  private static let share = MemoryBound.shareBytes

  private func stage(shares: Int) throws -> (stage: Stage, memory: MemoryBound) {
    var memory = SessionMemory()
    memory.online = MemoryBound(bytesMax: shares * Self.share)
    return (try Stage(memory: memory), memory.online)
  }

  /// Announces a presence of so many bytes.
  private func show(_ bytes: Int, by session: RecordingSession, _ resource: String, _ stage: Stage) {
    let presence = Presence(
      from: session.party, resource: resource, availability: .online, extras: [UInt8](repeating: 32, count: bytes),
      time: stage.clock.now)
    stage.parley.hub.setPresence(presence, of: session)
  }

  @Test func theUserWithTheMostLosesTheLargestSession() async throws {
    let (stage, memory) = try stage(shares: 64)
    let (romeo, juliet, paris) = try await cast(stage)
    let few = try await stage.session(romeo, "orchard")
    let (small, large) = (try await stage.session(juliet, "balcony"), try await stage.session(juliet, "chamber"))
    let last = try await stage.session(paris, "square")
    let (all, hub) = ([few, small, large, last], stage.parley.hub)
    func ended() -> [Bool] { all.map { $0.taken().contains(.closed(.tooLarge)) } }
    // What ordinary users have does not count.
    show(1_000, by: few, "orchard", stage)
    #expect(memory.bytes == 0)
    // 9 and 33 shares: a presence is kept in two forms.
    show(200_000, by: few, "orchard", stage)
    show(100_000, by: small, "balcony", stage)
    show(300_000, by: large, "chamber", stage)
    #expect(memory.bytes == 42 * Self.share)
    #expect(ended() == [false, false, false, false])
    show(400_000, by: last, "square", stage)
    #expect(ended() == [false, false, true, false])
    #expect(memory.bytes == 42 * Self.share)
    // What is left of that user does not count, until it is more.
    hub.unregister(large, time: stage.clock.now)
    #expect(memory.bytes == 42 * Self.share)
    show(300_000, by: small, "balcony", stage)
    #expect(memory.bytes == 63 * Self.share)
    #expect(ended() == [false, false, false, false])
    for session in [few, small, last] { hub.unregister(session, time: stage.clock.now) }
    #expect(memory.bytes == 0)
  }

  /// Many accounts of one network, each with less, do not end the session of somebody elsewhere who has many contacts.
  @Test func theUsersOfANetworkCountTogether() async throws {
    let (stage, memory) = try stage(shares: 64)
    let (romeo, juliet, paris) = try await cast(stage)
    let (alone, many) = ("198.51.100.1", "203.0.113.1")
    var all: [RecordingSession] = []
    for (party, peer) in [(romeo, alone), (juliet, many), (paris, many)] {
      let session = RecordingSession(party, peer: peer)
      try await stage.parley.post(
        .goOnline(OnlineSession(session: session, door: .xmpp, resource: "r")), by: party)
      all.append(session)
    }
    // 27 shares of one network, and 19 of the other.
    show(350_000, by: all[0], "r", stage)
    show(280_000, by: all[1], "r", stage)
    #expect(memory.bytes == 46 * Self.share)
    // The other one needs 39 then, and the user with the most there has 21 of these.
    show(300_000, by: all[2], "r", stage)
    #expect(all.map { $0.taken().contains(.closed(.tooLarge)) } == [false, false, true])
    #expect(memory.bytes == 27 * Self.share)
    // What is left of it counts again.
    stage.parley.hub.unregister(all[2], time: stage.clock.now)
    #expect(memory.bytes == 46 * Self.share)
    for session in all { stage.parley.hub.unregister(session, time: stage.clock.now) }
    #expect(memory.bytes == 0)
  }

  @Test func contactsCountAsLongAsTheirOwnerIsOnline() async throws {
    let (stage, memory) = try stage(shares: 64)
    let romeo = try await stage.user("romeo")
    let user = try #require(try await stage.parley.read { try $0.user(romeo.address) })
    var contacts: [BareJID: Contact] = [:]
    for number in 0..<1_000 {
      let address = try BareJID("p\(number)@example.org")
      contacts[address] = Contact(
        owner: user.id, address: address, peer: nil, subscription: Subscription.none.listed, version: .zero)
    }
    let snapshot = ContactSnapshot(
      user: user, contacts: contacts, blocks: [], rosterVersion: .zero, messagesFrom: .everybody)
    let session = RecordingSession(romeo)
    _ = stage.parley.hub.register(
      OnlineSession(session: session, door: .xmpp, resource: "orchard"), contactSnapshot: snapshot)
    #expect(memory.bytes == 2 * Self.share)
    stage.parley.hub.unregister(session, time: stage.clock.now)
    #expect(memory.bytes == 0)
  }

  @Test func placesInRoomsCount() async throws {
    let (stage, memory) = try stage(shares: 64)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room(by: romeo, .open, with: [(juliet, .member)])
    let session = try await stage.session(romeo, "orchard")
    // All but one place of what does not count.
    show((Limits.onlineBytesUncounted - Limits.placeBytes) / 2, by: session, "orchard", stage)
    #expect(memory.bytes == 0)
    try await stage.enter(room, session)
    #expect(memory.bytes == Self.share)
    try await stage.act(.exit(.address(room.address), nil), by: session)
    #expect(memory.bytes == 0)
    // An app is there without entering.
    _ = try await stage.session(juliet, "app-1", door: .app)
    let app = try #require(stage.parley.hub.onlineSessions(of: juliet.id).first)
    #expect(app.roomCount == 1 && app.followedCount == 1)
  }

  @Test func theAddressesOfDirectedPresenceHaveABoundInBytes() throws {
    func address(_ number: Int) throws -> BareJID {
      try BareJID("\(String(repeating: "x", count: 1_000))\(number)@example.org")
    }
    var directed = DirectedPresences()
    for number in 0..<200 { directed.sent(isAvailable: true, to: try address(number)) }
    #expect(directed.bytes <= Limits.directedBytesMax && directed.addresses.count < 65)
    // The oldest are forgotten, and an address is there once.
    let (oldest, newest) = (try address(0), try address(199))
    #expect(directed.addresses.last == newest && !directed.addresses.contains(oldest))
    let (bytes, count) = (directed.bytes, directed.addresses.count)
    directed.sent(isAvailable: true, to: newest)
    #expect(directed.bytes == bytes && directed.addresses.count == count)
    for number in 0..<200 { directed.sent(isAvailable: false, to: try address(number)) }
    #expect(directed.bytes == 0 && directed.addresses.isEmpty)
  }

  @Test func aPresenceForAllHasABound() async throws {
    let (stage, _) = try stage(shares: 64)
    let romeo = try await stage.user("romeo")
    func problem(_ availability: Presence.Availability, _ bytes: Int) -> Problem? {
      stage.parley.hub.problem(
        announcing: Presence(
          from: romeo, resource: "orchard", availability: availability, extras: [UInt8](repeating: 32, count: bytes),
          time: stage.clock.now))
    }
    #expect(problem(.away, Limits.presenceBytesMax) == nil)
    #expect(problem(.away, Limits.presenceBytesMax + 1)?.code == "presence-too-long")
    // It is not kept.
    #expect(problem(.offline, Limits.presenceBytesMax + 1) == nil)
  }
}
