import Addresses
import DialogsFixtures
import Testing

@testable import Dialogs

/// Bans of addresses that are no user's (XEP-0045 9.2), as the committer remembers them.
@Suite struct AddressBanTests {
  private func change(_ addresses: [String], _ affiliation: Affiliation, in room: RoomName) throws -> RoomIntent {
    let drafts = try addresses.map {
      MemberDraft(address: try BareJID($0), affiliation: affiliation, bansAddress: true)
    }
    return .members(.address(room.address), drafts)
  }

  private func enters(_ party: Party, _ room: RoomName, _ stage: Stage) async throws -> Bool {
    do {
      try await stage.enter(room, RecordingSession(party))
      return true
    } catch let problem as Problem where problem == .roomBanned {
      return false
    }
  }

  /// Nobody but the committer writes bans: one that is written beside it shows whether it reads them again.
  @Test func aChangedBanReadsNoneOfTheOthers() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room(by: romeo, .open)
    try await stage.act(change(["a.example"], .outcast, in: room), by: romeo)
    #expect(try await enters(juliet, room, stage))
    try stage.store.write {
      try $0.setValue(of: room.dialog, node: ValueKey.bans, item: juliet.address.description, [])
    }
    try await stage.act(change(["b.example"], .outcast, in: room), by: romeo)
    try await stage.act(change(["b.example"], .none, in: room), by: romeo)
    #expect(try await enters(juliet, room, stage))
    // Somebody else has written perhaps.
    _ = try await stage.parley.work { $0.changedRows }
    #expect(try await !enters(juliet, room, stage))
  }

  @Test func whatIsRememberedIsWhatIsStored() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room(by: romeo, .open)
    let orchard = RecordingSession(romeo)
    try await stage.enter(room, orchard)
    #expect(try await enters(juliet, room, stage))
    _ = orchard.taken()
    let names = ["b\u{FC}cher.example", "localhost", "\u{3C0}@elsewhere.example"]
    try await stage.act(change(names, .outcast, in: room), by: orchard)
    let isPutOut = orchard.effects().contains {
      if case .occupant("juliet", _, let codes, _) = $0 { codes.contains(301) } else { false }
    }
    #expect(isPutOut)
    #expect(try await !enters(juliet, room, stage))
    try await stage.act(change(["localhost"], .none, in: room), by: orchard)
    #expect(try await enters(juliet, room, stage))
    // A batch that fails leaves no ban.
    try await stage.failing(change(["localhost"], .outcast, in: room), by: orchard)
    #expect(try await enters(juliet, room, stage))
    let stored = try await stage.parley.read { try $0.addressBans(of: .server(room.dialog, .rules)) }
    #expect(Set(stored.map(\.address.description)) == [names[0], names[2]])
  }
}
