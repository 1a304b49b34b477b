import Addresses
import Basics
import DialogsFixtures
import Logging
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

  private func room(_ number: Int64, members: Int) throws -> Room {
    let name = RoomName(
      dialog: DialogID(number), realm: RealmID(1), address: try BareJID("room\(number)@conference.localhost"))
    return Room(
      name: name, externalID: nil, createdAt: Timestamp(milliseconds: 0), settings: .open, memberCount: members)
  }

  private func members(_ numbers: ClosedRange<Int64>, of room: Room) throws -> [Member] {
    try numbers.map { number in
      let party = Party(id: UserID(number), realm: RealmID(1), address: try BareJID("user\(number)@localhost"))
      return Member(
        room: room.id, party: party, affiliation: .member, nick: "user \(number)", since: .zero,
        joinedAt: Timestamp(milliseconds: 0), version: .zero)
    }
  }

  @Test func theNicksOfALargeRoomAreReadPageByPage() throws {
    var cache = RoomCache()
    let (small, large) = (try room(1, members: Limits.nicksAtOnceMax), try room(2, members: 600))
    for room in [small, large] { _ = cache.put(room) }
    let noted = [small, large, large].map { cache.noteUnread($0) }
    #expect(noted == [false, true, false])
    let first = cache.nextUnread(free: .max)
    #expect(first?.room == large.id && first?.after == nil)
    cache.remember(try members(1...200, of: large), isLast: false)
    let second = cache.nextUnread(free: .max)
    #expect(second?.room == large.id && second?.after == UserID(200))
    #expect(cache.looks(of: large.id) == nil)
    // Changes meanwhile: of one who was read, and of one who was not.
    cache.note(nick: "romeo", of: UserID(7), in: large.id)
    cache.note(nick: nil, of: UserID(8), in: large.id)
    cache.note(nick: "juliet", of: UserID(201), in: large.id)
    cache.settled()
    cache.remember(try members(201...210, of: large), isLast: true)
    let looks = try #require(cache.looks(of: large.id))
    #expect(looks.count == 209 && looks[UserID(8)] == nil)
    #expect(looks.holder(ofOriginalOf: NickLook("rom\u{435}o"), besides: UserID(0)) == UserID(7))
    let (third, isNoted) = (cache.nextUnread(free: .max), cache.noteUnread(large))
    #expect(third?.room == nil && !isNoted)
  }

  /// What is known of a room counts by its bytes, and by none once it has gone.
  @Test func whatIsKnownOfARoomCountsByItsBytes() throws {
    var cache = RoomCache()
    let room = try room(1, members: 2)
    let state = cache.put(room)
    let empty = cache.bytes
    #expect(empty > 0)
    let long = String(repeating: "a", count: 1_000)
    cache.remember(bans: [long], in: state)
    cache.note(ban: "b.example", stands: true, in: state)
    let banned = cache.bytes
    #expect(banned > empty + 1_000)
    cache.note(ban: "b.example", stands: true, in: state)
    cache.note(ban: "c.example", stands: false, in: state)
    #expect(cache.bytes == banned)
    cache.note(ban: "b.example", stands: false, in: state)
    cache.note(ban: long, stands: false, in: state)
    #expect(cache.bytes == empty)

    for var member in try members(1...2, of: room) {
      member.reason = long
      cache.remember(member, of: member.party.id, in: state)
    }
    #expect(cache.bytes > empty + 2_000)
    for number in Int64(1)...2 { cache.remember(nil as Member?, of: UserID(number), in: state) }
    #expect(cache.bytes < empty + 2_000)
    let known = cache.bytes
    cache.remember(try members(1...2, of: room), in: state)
    cache.remember(Mark(dialog: room.id, user: UserID(1)), in: state)
    #expect(cache.bytes > known)
    cache.remember(nil as [Member]?, in: state)
    cache.forgetMark(of: UserID(1), in: state)
    #expect(cache.bytes == known)

    _ = cache.put(room)
    #expect(cache.bytes == empty, "it was read again")
    cache.forget(room.id)
    // A post may still have it.
    cache.remember(bans: [long], in: state)
    #expect(cache.bytes == 0)
    let last = cache.put(room)
    cache.forgetRooms()
    cache.remember(bans: [long], in: last)
    #expect(cache.bytes == 0)
  }

  /// However many large rooms are used at once after a start, one page is read at a time.
  @Test func theNicksOfOneRoomAreReadAfterThoseOfAnother() throws {
    var cache = RoomCache()
    let rooms = try [Int64(1), 2, 3].map { try room($0, members: 600) }
    for room in rooms { _ = cache.put(room) }
    let begins = rooms.map { cache.noteUnread($0) }
    #expect(begins == [true, false, false])
    var read: [DialogID?] = []
    for _ in 0..<4 {
      read.append(cache.nextUnread(free: .max)?.room)
      cache.remember([], isLast: true)
    }
    #expect(read == rooms.map { Optional($0.id) } + [nil])
  }

  /// Nicks that would displace something else are read only when somebody wishes for one.
  @Test func nicksAreReadBeforehandWhereThereIsRoom() throws {
    var cache = RoomCache()
    let large = try room(2, members: 600)
    _ = cache.put(large)
    let noted = [cache.noteUnread(large), cache.noteUnread(large)]
    let none = cache.nextUnread(free: 600 * Limits.nickLookBytes - 1)
    let notedAgain = cache.noteUnread(large)
    let next = cache.nextUnread(free: 600 * Limits.nickLookBytes)
    #expect(noted == [true, false] && none?.room == nil && notedAgain && next?.room == large.id)
  }

  /// A batch that fails may have changed what was read.
  @Test func aBatchThatFailsHasNicksReadAgain() throws {
    var cache = RoomCache()
    let large = try room(2, members: 600)
    _ = cache.put(large)
    let isNoted = cache.noteUnread(large)
    _ = cache.nextUnread(free: .max)
    cache.remember(try members(1...200, of: large), isLast: false)
    cache.rollBack()
    let none = cache.nextUnread(free: .max)
    #expect(isNoted && none?.room == nil)
    _ = cache.put(large)
    let isNotedAgain = cache.noteUnread(large)
    let first = cache.nextUnread(free: .max)
    #expect(isNotedAgain && first?.room == large.id && first?.after == nil)
  }

  /// A copy is refused before, while and after the nicks are read, and each page is a post of its own.
  @Test func aNickIsComparedWithThoseOfALargeRoom() async throws {
    let stage = try Stage()
    let owner = try await stage.user("owner")
    let room = try await stage.room(by: owner, .open)
    let crowd = try await stage.crowd(600)
    for start in stride(from: 0, to: 600, by: 200) {
      let drafts = crowd[start..<start + 200].map {
        MemberDraft(address: $0.address, affiliation: Affiliation.member, nick: $0.name)
      }
      try await stage.act(.members(.dialog(room.dialog), drafts), by: owner)
    }
    let mallory = try await stage.user("mallory")
    /// The last of those who were read, with a Cyrillic letter.
    func copy(_ parley: Parley) async throws {
      let session = RecordingSession(mallory)
      try await parley.post(
        .room(.enter(.address(room.address), stage.entering(session, "\u{435}xtra600"))), by: mallory)
    }
    for waits in [0, 1, 9] {
      // As after a start: nothing is in memory.
      let next = try Parley(
        store: stage.store, clock: stage.clock, options: Parley.Options(domains: ["localhost"]),
        logger: Logger(label: "next") { _ in SwiftLogNoOpLogHandler() })
      if waits > 0 { try await next.post(.room(.place(.dialog(room.dialog))), by: owner) }
      for _ in 0..<waits { try await next.post(.confirm(.zero), by: owner) }
      // The posts are three full pages, one with the owner that is not full, and one that finds nothing further.
      if waits == 9 { #expect(next.takenPosts == 1 + 9 + 5) }
      #expect(try await problem { try await copy(next) }?.code == "nick-taken")
      await next.stop()
    }
  }
}
