import Testing

@testable import Dialogs

@Suite struct RoomCacheTests {
  /// A batch that fails drops what it has read or changed of the members' nicks, and leaves other rooms alone.
  @Test func aBatchThatFailsDropsTheNicksOfItsOwnRooms() {
    let (kept, changed, read) = (DialogID(1), DialogID(2), DialogID(3))
    var cache = RoomCache()
    cache.remember(NickLooks(), of: kept)
    cache.remember(NickLooks(), of: changed)
    cache.note(nick: "romeo", of: UserID(1), in: kept)
    cache.settled()
    cache.note(nick: "juliet", of: UserID(2), in: changed)
    cache.remember(NickLooks(), of: read)
    cache.rollBack()
    #expect(cache.looks(of: kept)?.count == 1)
    #expect(cache.looks(of: changed) == nil)
    #expect(cache.looks(of: read) == nil)
    // What a later batch has made durable stays when another one fails.
    cache.remember(NickLooks(), of: read)
    cache.settled()
    cache.rollBack()
    #expect(cache.looks(of: read) != nil)
  }
}
