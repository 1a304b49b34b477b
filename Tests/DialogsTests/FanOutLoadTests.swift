import Addresses
import Testing

@testable import Dialogs

/// Many rooms together: beyond the bound of what waits, no room and no author has more of it than an equal share.
@Suite struct FanOutLoadTests {
  private let rooms = (1...100).map { DialogID(Int64($0)) }
  private let authors = (1...100).map { BareJID(parsing: "p\($0)@localhost") ?? .nowhere }

  @Test func aRoomMayHaveAllOfTheBound() {
    let load = FanOutLoad(bound: 1_000)
    load.add(1_000, of: rooms[0], by: authors[0])
    #expect(!load.isBeyondShare(rooms[0]))
    load.add(1, of: rooms[0], by: authors[0])
    #expect(load.isBeyondShare(rooms[0]))
    // One that has nothing waiting takes a post in any case, and then has its share.
    #expect(!load.isBeyondShare(rooms[1]))
    load.add(500, of: rooms[1], by: authors[1])
    #expect(!load.isBeyondShare(rooms[1]) && load.isBeyondShare(rooms[0]))
    load.add(-501, of: rooms[0], by: authors[0])
    #expect(load.total == 1_000 && !load.isBeyondShare(rooms[0]))
  }

  /// Whoever posts in a hundred rooms has one share, and leaves that of others as it is.
  @Test func oneInManyRoomsHasOneShare() {
    let load = FanOutLoad(bound: 1_000)
    for room in rooms { load.add(10, of: room, by: authors[0]) }
    load.add(100, of: rooms[7], by: authors[1])
    #expect(load.total == 1_100 && load.isBeyondShare(authors[0]))
    // Neither the other one nor any of the rooms is held up.
    #expect(!load.isBeyondShare(authors[1]) && !load.isBeyondShare(authors[2]))
    #expect(rooms.allSatisfy { !load.isBeyondShare($0) })
    // What an author has waiting is over when the lanes have come to it.
    for room in rooms[..<80] { load.add(-10, of: room, by: authors[0]) }
    load.add(800, of: rooms[8], by: authors[2])
    #expect(!load.isBeyondShare(authors[0]) && load.isBeyondShare(authors[2]))
  }

  /// Many accounts in one room are one room.
  @Test func manyInOneRoomHaveOneShare() {
    let load = FanOutLoad(bound: 1_000)
    for author in authors[1...] { load.add(10, of: rooms[0], by: author) }
    load.add(100, of: rooms[1], by: authors[0])
    #expect(load.isBeyondShare(rooms[0]) && !load.isBeyondShare(rooms[1]))
    #expect(authors.allSatisfy { !load.isBeyondShare($0) })
  }

  /// Posts are judged while the lanes still have all earlier ones: no more waits than the bound and a post of each room.
  @Test func manyRoomsTogetherAreBounded() {
    let load = FanOutLoad(bound: 1_000)
    var taken: [DialogID: Int] = [:]
    for _ in 0..<50 {
      for (room, author) in zip(rooms, authors) where !load.isBeyondShare(room) && !load.isBeyondShare(author) {
        load.expect(20, of: room, by: author)
        taken[room, default: 0] += 1
      }
    }
    #expect(rooms.allSatisfy { taken[$0] == 1 })
    #expect(load.total == 100 * 20)
    // The lanes are given the same, and take it apart.
    load.batchEnded()
    #expect(load.total == 0)
    for (room, author) in zip(rooms, authors) { load.add(20, of: room, by: author) }
    #expect(load.isBeyondShare(rooms[7]) && load.isBeyondShare(authors[7]))
    for (room, author) in zip(rooms, authors).dropFirst(50) { load.add(-20, of: room, by: author) }
    #expect(load.total == 1_000 && !load.isBeyondShare(rooms[7]))
  }

  @Test func aFailedBatchGivesNothing() {
    let load = FanOutLoad(bound: 1_000)
    load.add(7, of: rooms[0], by: authors[0])
    load.expect(2_000, of: rooms[0], by: authors[0])
    load.expect(30, of: rooms[1], by: authors[0])
    #expect(load.isBeyondShare(rooms[0]) && load.isBeyondShare(authors[0]))
    load.batchEnded()
    load.batchEnded()
    #expect(load.total == 7 && !load.isBeyondShare(rooms[0]))
  }
}
