import Addresses
import Basics
import Dialogs
import DialogsFixtures
import Testing

/// Bookmarks of rooms: those that the server writes, the users who learn of a room by a bookmark or by an invitation,
/// and the effect of removing one.
@Suite struct BookmarkTests {
  private func bookmarks(_ stage: Stage, _ owner: Party) async throws -> [Bookmark] {
    try await stage.parley.read { try $0.items(in: Bookmark.node, of: owner.id, newest: true, limit: 99) }.compactMap {
      if case .bookmark(let bookmark) = $0.content { bookmark } else { nil }
    }
  }

  private func publish(_ bookmark: Bookmark, _ stage: Stage, by owner: Party) async throws {
    let item = NodePublication.Item(id: bookmark.address.description, content: .bookmark(bookmark))
    try await stage.parley.post(.node(.publish(NodePublication(node: Bookmark.node, item: item))), by: owner)
  }

  private func retract(_ room: RoomName, _ stage: Stage, by owner: Party) async throws {
    try await stage.parley.post(
      .node(.retract(node: Bookmark.node, item: room.address.description, notifies: false)), by: owner)
  }

  /// Follows bookmarks.
  private func follower(_ stage: Stage, _ party: Party) async throws -> RecordingSession {
    let session = try await stage.session(party, "follower")
    stage.parley.hub.update(session) { $0.interests = [Bookmark.node] }
    return session
  }

  /// Returns the deliveries that announce a room to enter.
  private func told(_ session: RecordingSession) -> [String] {
    session.taken().compactMap {
      switch $0 {
      case .invited(let room): "invited to \(room)"
      case .event(_, Bookmark.node, .published(let item)): "bookmarked \(item?.id ?? "")"
      default: nil
      }
    }
  }

  private static let square = RoomSettings.open.with { $0.name = "Square" }

  // MARK: Written

  @Test func aDialogMadeOrJoinedWithoutAClientInItIsBookmarked() async throws {
    let stage = try Stage()
    let (romeo, juliet, nurse) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("nurse")
    )
    let room = try await stage.room(by: romeo, Self.square)
    var expected = Bookmark(address: room.address, name: "Square", autojoins: true, nick: "romeo")
    #expect(try await bookmarks(stage, romeo) == [expected])
    let phone = try await stage.session(juliet, "phone", door: .app)
    try await stage.act(.register(.dialog(room.dialog), nick: "Capulet", bookmarks: true), by: juliet)
    expected.nick = "Capulet"
    #expect(try await bookmarks(stage, juliet) == [expected])
    #expect(!phone.taken().contains(.invited(room.address.description)), "nobody invites oneself")
    // A client that registers in the room makes its bookmark itself.
    try await stage.act(.register(.dialog(room.dialog), nick: nil), by: nurse)
    #expect(try await bookmarks(stage, nurse) == [])

    // Another nick is no joining, and another name is not the bookmark's.
    try await retract(room, stage, by: romeo)
    try await stage.act(.register(.dialog(room.dialog), nick: "Montague", bookmarks: true), by: romeo)
    try await stage.act(.configure(.dialog(room.dialog), .change { $0.name = "Market" }), by: romeo)
    #expect(try await bookmarks(stage, romeo) == [])
    #expect(try await bookmarks(stage, juliet) == [expected])
  }

  @Test func theUsersNameOfARoomStays() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room(by: romeo, Self.square)
    try await publish(Bookmark(address: room.address, name: "Where fish is sold", extensions: [7]), stage, by: juliet)
    try await stage.affiliate(juliet, .member, in: room, by: romeo)
    #expect(
      try await bookmarks(stage, juliet) == [
        Bookmark(address: room.address, name: "Where fish is sold", autojoins: true, extensions: [7])
      ])
  }

  // MARK: Told

  @Test func eachSessionIsToldOnceOfARoomToEnter() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let follower = try await follower(stage, juliet)
    let plain = try await stage.session(juliet, "plain")
    let room = try await stage.room(by: romeo, Self.square)
    let address = room.address.description
    try await stage.affiliate(juliet, .member, in: room, by: romeo)
    #expect(told(follower) == ["bookmarked \(address)"])
    #expect(told(plain) == ["invited to \(address)"])
    // The bookmark is there already: there is nothing to notice.
    try await stage.affiliate(juliet, .none, in: room, by: romeo)
    try await publish(
      Bookmark(address: room.address, name: "Square", autojoins: true, nick: "juliet"), stage, by: juliet)
    _ = (follower.taken(), plain.taken())
    try await stage.affiliate(juliet, .member, in: room, by: romeo)
    #expect(told(follower) == ["invited to \(address)"])
    #expect(told(plain) == ["invited to \(address)"])
    // A user who is invited, and not added, has no bookmark.
    try await stage.affiliate(juliet, .none, in: room, by: romeo)
    _ = (follower.taken(), plain.taken())
    try await stage.act(.invite(.dialog(room.dialog), to: juliet.address, reason: nil), by: romeo)
    #expect(told(follower) == ["invited to \(address)"])
    #expect(told(plain) == ["invited to \(address)"])
  }

  @Test func aUserWhoseNodeTellsNothingIsInvited() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let follower = try await follower(stage, juliet)
    try await stage.parley.post(.node(.create(node: Bookmark.node, [.notifies(false)])), by: juliet)
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    #expect(told(follower) == ["invited to \(room.address)"])
    #expect(try await bookmarks(stage, juliet).count == 1)
  }

  // MARK: Taken away

  @Test func aPublicDialogIsLeftWithItsBookmark() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let open = try await stage.room("square", by: romeo, Self.square, with: [(juliet, .member)])
    let closed = try await stage.room("balcony", by: romeo, with: [(juliet, .member)])
    let phone = try await stage.session(juliet, "phone", door: .app)
    let seat = try await stage.seats(open, juliet)[0]
    try await retract(open, stage, by: juliet)
    #expect(try await stage.member(juliet, of: open) == nil)
    #expect(try await stage.stored(open).memberCount == 1)
    let left = MemberChange(party: juliet, was: .member, now: .none, nick: "juliet", reason: nil)
    #expect(phone.taken().contains(.noted(.member(left))))
    #expect(
      seat.effects().contains(.occupant("juliet", .participant, codes: [], .roomOwn)),
      "who is there may stay as a guest")
    try await retract(closed, stage, by: juliet)
    #expect(try await stage.member(juliet, of: closed)?.affiliation == .member, "nobody could come back by themselves")
    try await stage.affiliate(juliet, .watcher, in: closed, by: romeo)
    #expect(try await bookmarks(stage, juliet) == [], "and the server writes none anew")
    // Watchers are members; who looks after a room stays.
    try await stage.affiliate(juliet, .watcher, in: open, by: romeo)
    try await retract(open, stage, by: juliet)
    #expect(try await stage.member(juliet, of: open) == nil)
    for affiliation in [Affiliation.admin, .owner] {
      try await stage.affiliate(juliet, .none, in: open, by: romeo)
      try await stage.affiliate(juliet, affiliation, in: open, by: romeo)
      try await retract(open, stage, by: juliet)
      #expect(try await stage.member(juliet, of: open)?.affiliation == affiliation)
    }
  }

  /// One bookmark grows and another one shrinks while nothing more may be published.
  @Test func aListForWhichThereIsNoRoomIsRefusedWholeAndOthersAreToldOfTheirs() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let rooms = try ["a", "b", "c"].map { try BareJID("\($0)@conference.localhost") }
    let long = String(repeating: "x", count: 200)
    for (room, name) in zip(rooms, ["short", long, "c"]) {
      try await publish(Bookmark(address: room, name: name), stage, by: romeo)
    }
    let now = stage.clock.now
    try await stage.parley.work { writer in
      let rest = Limits.publishedBytesMax - (try writer.published(by: romeo.id, creator: nil).bytes)
      try writer.put(
        Node(owner: romeo.id, name: "rest", configuration: NodeConfiguration(), createdAt: now, byteCount: rest))
    }
    let before = try await bookmarks(stage, romeo)
    let wanted = [Bookmark(address: rooms[0], name: long), Bookmark(address: rooms[1], name: "short")]
    #expect(
      try await problem {
        try await stage.parley.post(.node(.bookmarks(BookmarksDraft(bookmarks: wanted, others: nil))), by: romeo)
      } == .publishedTooMuch)
    #expect(try await bookmarks(stage, romeo) == before)
    let old = try await stage.session(juliet, "old")
    stage.parley.hub.update(old) { $0.interests = [Bookmark.listNode] }
    try await publish(Bookmark(address: rooms[0]), stage, by: juliet)
    #expect(old.taken().contains { if case .event(_, Bookmark.listNode, .published) = $0 { true } else { false } })
  }

  @Test func otherWaysOfLosingABookmarkLeaveNothing() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room(by: romeo, Self.square, with: [(juliet, .member)])
    func isMember() async throws -> Bool { try await stage.member(juliet, of: room)?.affiliation == .member }
    try await publish(Bookmark(address: room.address, name: "Square"), stage, by: juliet)
    #expect(try await isMember(), "not entering is no leaving")
    try await stage.parley.post(.node(.bookmarks(BookmarksDraft(bookmarks: [], others: nil))), by: juliet)
    #expect(try await isMember(), "an old client may not know the bookmark")
    try await publish(Bookmark(address: room.address), stage, by: juliet)
    try await stage.parley.post(.node(.purge(node: Bookmark.node)), by: juliet)
    #expect(try await isMember())
    try await publish(Bookmark(address: room.address), stage, by: juliet)
    try await stage.parley.post(.node(.delete(node: Bookmark.node)), by: juliet)
    #expect(try await isMember())
    // Somebody else's item of that name, a room that is not there, somebody who is no member.
    try await publish(Bookmark(address: try BareJID("nowhere@conference.localhost")), stage, by: juliet)
    try await stage.parley.post(
      .node(.retract(node: Bookmark.node, item: "nowhere@conference.localhost", notifies: false)), by: juliet)
    let nurse = try await stage.user("nurse")
    try await publish(Bookmark(address: room.address), stage, by: nurse)
    try await retract(room, stage, by: nurse)
    #expect(try await stage.stored(room).memberCount == 2)
  }

  // MARK: The end

  @Test func theEndOfALargeRoomIsDoneInPieces() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let room = try await stage.room(by: romeo, Self.square)
    let others = try await stage.crowd(2 * Limits.memberChangesMax + 10)
    for start in stride(from: 0, to: others.count, by: Limits.memberChangesMax) {
      let drafts = others[start..<min(start + Limits.memberChangesMax, others.count)].map {
        MemberDraft(address: $0.address, affiliation: .member)
      }
      try await stage.act(.members(.dialog(room.dialog), drafts), by: romeo)
    }
    func bookmarked() async throws -> Int {
      try await stage.parley.read { reader in
        try others.count { try reader.item(room.address.description, in: Bookmark.node, of: $0.id) != nil }
      }
    }
    #expect(try await bookmarked() == others.count)
    let commits = stage.store.commits
    try await stage.act(.destroy(.dialog(room.dialog), reason: nil, alternate: nil), by: romeo)
    // Each piece is posted when the one before is done, behind what others have posted by then.
    let pieces = (others.count + 1) / Limits.memberChangesAtOnce + 1
    for _ in 0..<pieces { try await stage.settle(romeo) }
    #expect(try await bookmarked() == 0)
    #expect(stage.store.commits - commits >= pieces, "in one commit it would hold up everybody")
  }

  @Test func leftOverBookmarksAreRemovedWhenTried() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room(by: romeo)
    try await stage.act(.destroy(.dialog(room.dialog), reason: nil, alternate: nil), by: romeo)
    try await publish(Bookmark(address: room.address, autojoins: true), stage, by: juliet)
    let session = RecordingSession(juliet)
    #expect(try await problem { try await stage.enter(room, session) } == .roomDestroyed)
    #expect(try await bookmarks(stage, juliet) == [])
    // The intent itself does nothing to a room that is there.
    let other = try await stage.room("other", by: romeo, Self.square, with: [(juliet, .member)])
    try await stage.act(.endMembers(other.dialog, after: nil, password: nil), by: juliet)
    #expect(try await bookmarks(stage, juliet).count == 1)
  }
}
