import Testing

@testable import Dialogs

/// Many rooms together: beyond the bound of what waits, none has more of it than an equal share.
@Suite struct FanOutLoadTests {
  private let rooms = (1...100).map { DialogID(Int64($0)) }

  @Test func aRoomMayHaveAllOfTheBound() {
    let load = FanOutLoad(bound: 1_000)
    load.add(1_000, of: rooms[0])
    #expect(!load.isBeyondShare(rooms[0]))
    load.add(1, of: rooms[0])
    #expect(load.isBeyondShare(rooms[0]))
    // One that has nothing waiting takes a post in any case, and then has its share.
    #expect(!load.isBeyondShare(rooms[1]))
    load.add(500, of: rooms[1])
    #expect(!load.isBeyondShare(rooms[1]) && load.isBeyondShare(rooms[0]))
    load.add(-501, of: rooms[0])
    #expect(load.total == 1_000 && !load.isBeyondShare(rooms[0]))
  }

  /// Posts are judged while the lanes still have all earlier ones: no more waits than the bound and a post of each room.
  @Test func manyRoomsTogetherAreBounded() {
    let load = FanOutLoad(bound: 1_000)
    var taken: [DialogID: Int] = [:]
    for _ in 0..<50 {
      for room in rooms where !load.isBeyondShare(room) {
        load.expect(20, of: room)
        taken[room, default: 0] += 1
      }
    }
    #expect(rooms.allSatisfy { taken[$0] == 1 })
    #expect(load.total == 100 * 20)
    // The lanes are given the same, and take it apart.
    load.batchEnded()
    #expect(load.total == 0)
    for room in rooms { load.add(20, of: room) }
    #expect(load.isBeyondShare(rooms[7]))
    for room in rooms[50...] { load.add(-20, of: room) }
    #expect(load.total == 1_000 && !load.isBeyondShare(rooms[7]))
  }

  @Test func aFailedBatchGivesNothing() {
    let load = FanOutLoad(bound: 1_000)
    load.add(7, of: rooms[0])
    load.expect(2_000, of: rooms[0])
    load.expect(30, of: rooms[1])
    #expect(load.isBeyondShare(rooms[0]))
    load.batchEnded()
    load.batchEnded()
    #expect(load.total == 7 && !load.isBeyondShare(rooms[0]))
  }
}
