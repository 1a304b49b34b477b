import Addresses
import DialogsFixtures
import Testing

@testable import Dialogs

/// What the committer remembers of the store, which is bounded by its bytes.
@Suite struct ByteCacheTests {
  @Test func bytesAreThoseOfWhatIsInIt() {
    var cache = ByteCache<Int, String?> { _, text in text?.utf8.count ?? 0 }
    cache[1] = .some(nil)
    let slot = cache.bytes
    #expect(slot > 0)
    cache[1] = "text"
    cache[2] = "a longer text"
    #expect(cache.bytes == 2 * slot + 17)
    cache[2] = "text"
    #expect(cache.bytes == 2 * slot + 8)
    let removed = cache.removeValue(forKey: 1)
    #expect(removed == .some("text") && cache.bytes == slot + 4)
    cache[1] = nil
    #expect(cache.bytes == slot + 4)
    cache.removeAll()
    #expect(cache.bytes == 0 && cache[2] == nil)
  }

  private func enters(_ party: Party, _ room: RoomName, _ stage: Stage) async throws -> Bool {
    do {
      try await stage.enter(room, RecordingSession(party))
      return true
    } catch let problem as Problem where problem == .roomBanned {
      return false
    }
  }

  private func ban(_ addresses: [String], in room: RoomName, by owner: Party, _ stage: Stage) async throws {
    let drafts = try addresses.map {
      MemberDraft(address: try BareJID($0), affiliation: .outcast, bansAddress: true)
    }
    try await stage.act(.members(.address(room.address), drafts), by: owner)
  }

  /// Bans the party beside the committer, which shows whether it reads the bans again.
  private func banInTheStore(_ party: Party, in room: RoomName, _ stage: Stage) throws {
    try stage.store.write {
      try $0.setValue(of: room.dialog, node: ValueKey.bans, item: party.address.description, [])
    }
  }

  private let long = String(repeating: "a", count: 900)

  @Test func longBansDoNotFillTheMemory() async throws {
    let stage = try Stage(cacheBytesMax: 200_000)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room(by: romeo, .open)
    try await ban(["a.example"], in: room, by: romeo, stage)
    #expect(try await enters(juliet, room, stage))
    try banInTheStore(juliet, in: room, stage)
    try await ban((0..<100).map { "\(long)@b\($0).example" }, in: room, by: romeo, stage)
    #expect(try await enters(juliet, room, stage), "half of the bound")
    try await ban((0..<150).map { "\(long)@c\($0).example" }, in: room, by: romeo, stage)
    #expect(try await !enters(juliet, room, stage))
  }

  /// Somebody who writes to many addresses that nobody has displaces what is known of these, and no room.
  @Test func theLargestCacheIsEmptiedFirst() async throws {
    let stage = try Stage(cacheBytesMax: 200_000)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room(by: romeo, .open)
    try await ban(["a.example"], in: room, by: romeo, stage)
    #expect(try await enters(juliet, room, stage))
    try banInTheStore(juliet, in: room, stage)
    func isThere(_ name: String) async throws -> Bool {
      let party = Party(id: UserID(0), realm: romeo.realm, address: try BareJID("\(name)@localhost"))
      do {
        _ = try await stage.say("wherefore?", from: romeo, to: party)
        return true
      } catch let problem as Problem where problem == .unreachable {
        return false
      }
    }
    #expect(try await !isThere("nurse"))
    let (address, now) = (try BareJID("nurse@localhost"), stage.clock.now)
    try stage.store.write {
      _ = try $0.insertUser(address, in: romeo.realm, profile: Profile(), createdAt: now)
    }
    for number in 0..<100 { #expect(try await !isThere("\(long)\(number)")) }
    #expect(try await !isThere("nurse"), "half of the bound")
    for number in 100..<200 { #expect(try await !isThere("\(long)\(number)")) }
    #expect(try await isThere("nurse"))
    #expect(try await enters(juliet, room, stage))
  }
}
