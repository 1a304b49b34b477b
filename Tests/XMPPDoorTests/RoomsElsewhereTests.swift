import Addresses
import Testing

@testable import XMPPDoor

@Suite struct RoomsElsewhereTests {
  /// Rooms and nicks are as long as a client of a server elsewhere makes them: they have a bound in bytes.
  @Test func roomsAndNicksHaveABoundInBytes() throws {
    var rooms = RoomsElsewhere()
    let all = try (0..<200).map { try bare("room\($0)@muc.example") }
    let nick = String(repeating: "x", count: 1_000)
    for room in all { rooms.sent(isAvailable: true, to: room, nick: nick) }
    #expect(rooms.byteCount <= DoorLimits.roomsElsewhereBytesMax && rooms.nicks.count < 65)
    #expect(rooms.nicks[all[0]] == nick && rooms.nicks[all[199]] == nil)
    // Another nick takes the place of the first.
    let bytes = rooms.byteCount
    rooms.sent(isAvailable: true, to: all[0], nick: "x")
    #expect(rooms.byteCount == bytes - 999 && rooms.nicks[all[0]] == "x")
    for room in all { rooms.sent(isAvailable: false, to: room, nick: nick) }
    #expect(rooms.byteCount == 0 && rooms.nicks.isEmpty)
  }
}
