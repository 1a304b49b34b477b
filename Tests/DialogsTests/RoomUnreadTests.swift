import Addresses
import DialogsFixtures
import Testing

@testable import Dialogs

/// Unread counts of a room, and how far every member has read.
@Suite struct RoomUnreadTests {
  @Test func unreadInARoomIsWhatARecountSays() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    let all = try await stage.seats(room, romeo, juliet)
    var generator = Seeded(11)
    var said: [(position: Position, author: UserID)] = []
    var read: [UserID: Position] = [:]
    var since: [UserID: Position] = [romeo.id: .zero, juliet.id: .zero]
    for step in 0..<160 {
      let (author, session) = Bool.random(using: &generator) ? (romeo, all[0]) : (juliet, all[1])
      switch Int.random(in: 0..<10, using: &generator) {
      case 0..<3:
        guard let target = said.randomElement(using: &generator) else { continue }
        let id = stage.parley.entryID(target.position, in: author.realm)
        try await stage.act(.marker(.dialog(room.dialog), RoomMarkerDraft(kind: .displayed, target: id)), by: author)
        read[author.id] = max(read[author.id] ?? .zero, target.position)
      case 3:
        // Notices count for nobody; neither does who comes and goes.
        try await stage.act(.topic(.dialog(room.dialog), text: "\(step)", stanza: nil), by: romeo)
      case 4 where step > 40:
        let isThere = since[paris.id] != nil
        try await stage.affiliate(paris, isThere ? .none : .member, in: room, by: romeo)
        since[paris.id] = isThere ? nil : said.last?.position ?? .zero
        read[paris.id] = nil
      case 5:
        let receipt = try await stage.say("app", in: room, by: author)
        said.append((try #require(receipt.entry).position, author.id))
      case 6 where step % 7 == 0:
        // What is gone by its age is unread for nobody.
        guard let end = said.randomElement(using: &generator)?.position else { continue }
        _ = try await stage.parley.work(agingIn: room.dialog) {
          try $0.expire(room.dialog, through: end, limit: 99, within: .seconds(60), endingFiles: nil)
        }
        said.removeAll { $0.position <= end }
      default:
        let receipt = try await stage.say("x", in: room, by: session)
        said.append((try #require(receipt.entry).position, author.id))
      }
      for user in [romeo, juliet, paris] {
        let expected = since[user.id].map { since in
          said.count { $0.author != user.id && $0.position > max(since, read[user.id] ?? .zero) }
        }
        #expect(try await stage.unread(user) == Int64(expected ?? 0), "\(user.name) after \(step)")
      }
    }
    #expect(said.count > 20)
  }

  @Test func readingTheRestInOneBatchWithMessagesCountsThem() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    let all = try await stage.seats(room, romeo, juliet)
    let id = try #require(try await stage.say("one", in: room, by: all[0]).entry).id
    try await stage.together(romeo) {
      stage.submit(.say(.address(room.address), stage.draft("mine")), by: all[1])
      stage.submit(.say(.address(room.address), stage.draft("two")), by: all[0])
      stage.submit(.marker(.address(room.address), RoomMarkerDraft(kind: .displayed, target: id)), by: all[1])
      stage.submit(.say(.address(room.address), stage.draft("three")), by: all[0])
    }
    #expect(try await stage.unread(juliet) == 2)
    #expect(try await stage.unread(romeo) == 1)
  }

  /// Earlier messages count as read for a new member, although they have displayed none of them.
  @Test func messagesFromBeforeJoiningChangeNoUnreadCount() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo)
    let first = try #require(try await stage.say("one", in: room, by: romeo).entry)
    let second = try #require(try await stage.say("two", in: room, by: romeo).entry)
    try await stage.affiliate(juliet, .member, in: room, by: romeo)
    try await stage.parley.post(.perUser(room.dialog, .hide(first.id)), by: juliet)
    try await stage.say("three", in: room, by: romeo)
    #expect(try await stage.unread(juliet) == 1)

    func mark(_ entry: Entry) -> RoomIntent {
      .marker(.dialog(room.dialog), RoomMarkerDraft(kind: .displayed, target: entry.id))
    }
    #expect(try await stage.act(mark(first), by: juliet).isRepeat)
    #expect(try await stage.unread(juliet) == 1)
    #expect(try await !stage.act(mark(second), by: juliet).isRepeat)
    #expect(try await stage.unread(juliet) == 1)
  }

  @Test func smallRoomsHearHowFarEverybodyHasReadAndLargeOnesDoNot() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let crowd = try await stage.crowd(Limits.markersToldMax - 2)
    let room = try await stage.room(by: romeo, with: [(juliet, .member)] + crowd.map { ($0, .watcher) })
    #expect(try await stage.stored(room).memberCount == Limits.markersToldMax)
    let all = try await stage.seats(room, romeo)
    let (phone, tablet) = (
      try await stage.session(juliet, "phone", door: .app), try await stage.session(romeo, "tablet", door: .app)
    )
    func read(_ text: String, isPrivate: Bool = false) async throws {
      let id = try #require(try await stage.say(text, in: room, by: all[0]).entry).id
      for session in [all[0], phone, tablet] { _ = session.taken() }
      try await stage.act(
        .marker(.dialog(room.dialog), RoomMarkerDraft(kind: .displayed, target: id, isPrivate: isPrivate)), by: juliet)
    }
    try await read("one")
    #expect(tablet.effects() == [.marked(.displayed, by: "juliet", told: true, asked: false)])
    #expect(all[0].effects() == [.marked(.displayed, by: "juliet", told: true, asked: false)])
    #expect(phone.effects() == [.marked(.displayed, by: "juliet", told: true, asked: false)])
    try await read("two", isPrivate: true)
    #expect(tablet.effects() == [])
    #expect(phone.effects() == [.marked(.displayed, by: "juliet", told: false, asked: false)])
    try await stage.affiliate(try await stage.user("tybalt"), .watcher, in: room, by: romeo)
    try await read("three")
    #expect(all[0].effects() == [])
    #expect(phone.effects() == [.marked(.displayed, by: "juliet", told: false, asked: false)])
    #expect(try await stage.unread(juliet) == 0)
  }

  @Test func aMarkerOnlyMovesForwardAndOnlyToWhatIsThere() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open, with: [(juliet, .member)])
    let other = try await stage.room("chapel", by: romeo)
    let first = try #require(try await stage.say("one", in: room, by: romeo).entry)
    let second = try #require(try await stage.say("two", in: room, by: romeo).entry)
    let elsewhere = try #require(try await stage.say("x", in: other, by: romeo).entry)
    func mark(_ id: PublicID) -> RoomIntent {
      .marker(.dialog(room.dialog), RoomMarkerDraft(kind: .displayed, target: id))
    }
    #expect(try await !stage.act(mark(second.id), by: juliet).isRepeat)
    #expect(try await stage.act(mark(first.id), by: juliet).isRepeat)
    #expect(try await stage.unread(juliet) == 0)
    for id in [elsewhere.id, PublicID(high: 1, low: 2)] {
      #expect(try await problem { try await stage.act(mark(id), by: juliet) }?.code == "message-unknown")
    }
    // A user who is no member cannot mark a message.
    #expect(try await problem { try await stage.act(mark(second.id), by: paris) } == .roomUnknown)
  }
}
