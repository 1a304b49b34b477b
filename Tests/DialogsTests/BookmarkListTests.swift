import Addresses
import Basics
import DialogsFixtures
import Testing

@testable import Dialogs

/// Long lists of bookmarks: they are written in pieces, and clients that know only the list are told of them at a pace.
@Suite struct BookmarkListTests {
  private func list(_ numbers: Range<Int>, named name: String? = nil) throws -> [Bookmark] {
    try numbers.map { Bookmark(address: try BareJID("r\($0)@conference.localhost"), name: name) }
  }

  private func stored(_ stage: Stage, _ owner: Party) async throws -> [Bookmark] {
    try await stage.parley.read { reader in
      try reader.items(in: Bookmark.node, of: owner.id, newest: true, limit: Limits.itemsPerNodeMax)
    }.compactMap {
      if case .bookmark(let bookmark) = $0.content { bookmark } else { nil }
    }
  }

  private func publish(_ bookmark: Bookmark, _ stage: Stage, by owner: Party) async throws {
    let item = NodePublication.Item(id: bookmark.address.description, content: .bookmark(bookmark))
    try await stage.parley.post(.node(.publish(NodePublication(node: Bookmark.node, item: item))), by: owner)
  }

  /// Returns how often the list was announced.
  private func told(_ session: RecordingSession) -> Int {
    session.taken().count { if case .event(_, Bookmark.listNode, .published) = $0 { true } else { false } }
  }

  @Test func aLongListIsWrittenInPieces() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    try await publish(try list(900..<901)[0], stage, by: romeo)
    let draft = BookmarksDraft(bookmarks: try list(0..<249), others: [7], changesMax: 100)
    var receipt = try await stage.parley.post(.node(.bookmarks(draft)), by: romeo)
    #expect(try await stored(stage, romeo) == list(0..<99), "and one is removed")
    var rest = try #require(receipt.value as? BookmarkChanges)
    #expect(rest.changes.count == 150)
    // What was changed meanwhile stays.
    let changed = try list(120..<121, named: "Changed")[0]
    try await publish(changed, stage, by: romeo)
    receipt = try await stage.parley.post(.node(.bookmarkChanges(rest)), by: romeo)
    rest = try #require(receipt.value as? BookmarkChanges)
    #expect(rest.changes.count == 50)
    receipt = try await stage.parley.post(.node(.bookmarkChanges(rest)), by: romeo)
    #expect(receipt.value == nil)
    let all = try await stored(stage, romeo)
    #expect(all.count == 249 && all.contains(changed))
    // A list that is the same is no change, and removals are changes as well.
    let same = BookmarksDraft(bookmarks: all, others: nil, changesMax: 100)
    receipt = try await stage.parley.post(.node(.bookmarks(same)), by: romeo)
    #expect(receipt.isRepeat && receipt.value == nil)
    let none = BookmarksDraft(bookmarks: [], others: nil, changesMax: 100)
    receipt = try await stage.parley.post(.node(.bookmarks(none)), by: romeo)
    #expect(try await stored(stage, romeo).count == 149)
    // A node that was deleted meanwhile is not made again.
    try await stage.parley.post(.node(.delete(node: Bookmark.node)), by: romeo)
    rest = try #require(receipt.value as? BookmarkChanges)
    receipt = try await stage.parley.post(.node(.bookmarkChanges(rest)), by: romeo)
    #expect(receipt.value == nil)
    #expect(try await stored(stage, romeo).isEmpty)
  }

  /// Nothing is written before all was compared, and what is published meanwhile stays.
  @Test func aLongListIsComparedInPieces() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room(by: juliet)
    let (orchard, balcony) = (RecordingSession(romeo), RecordingSession(juliet))
    let all = try list(0..<2 * Limits.bookmarksComparedAtOnce + 50)
    let intent = Intent.node(.bookmarks(BookmarksDraft(bookmarks: all, others: nil, changesMax: 2_000)))
    stage.store.failNext(1, after: 2)
    await #expect(throws: Problem.storage) { try await stage.parley.post(intent, by: romeo) }
    #expect(try await stored(stage, romeo).isEmpty)
    let before = stage.store.commits
    let token = orchard.nextToken()
    try await stage.together(romeo) {
      #expect(
        stage.parley.submit(Post(author: romeo, intent: intent, completion: .session(orchard, token: token))))
      stage.submit(
        .members(.dialog(room.dialog), [MemberDraft(address: romeo.address, affiliation: .member)]), by: balcony)
    }
    #expect(stage.store.commits - before == 5, "the gate, three pieces, and the fixture's own post")
    let receipt = try #require(orchard.outcome(of: token)).get()
    #expect(!receipt.isRepeat && receipt.value == nil)
    let now = try await stored(stage, romeo)
    #expect(now.count == all.count + 1 && now.contains { $0.address == room.address })
  }

  /// What a list does not name is read only if the list is written, and is charged.
  @Test func aListIsChargedForTheBookmarksThatItDoesNotName() async throws {
    var policy = SendingPolicy()
    policy.stanzasPerSecond = 1
    let stage = try Stage(sending: policy)
    let romeo = try await stage.user("romeo")
    func isCharged() -> Bool {
      !stage.parley.sending.budget(of: romeo, from: nil, now: stage.clock.now).isFull(now: stage.clock.now)
    }
    func fill(_ bytes: Int) async throws {
      let now = stage.clock.now
      try await stage.parley.work { writer in
        try writer.put(
          Node(owner: romeo.id, name: "rest", configuration: NodeConfiguration(), createdAt: now, byteCount: bytes))
      }
    }
    let all = BookmarksDraft(bookmarks: try list(0..<200), others: nil)
    try await stage.parley.post(.node(.bookmarks(all)), by: romeo)
    #expect(!isCharged(), "there were none")
    try await fill(Limits.publishedBytesMax)
    let one = BookmarksDraft(bookmarks: try list(500..<501), others: nil, changesMax: 100)
    await #expect(throws: Problem.publishedTooMuch) {
      try await stage.parley.post(.node(.bookmarks(one)), by: romeo)
    }
    #expect(!isCharged())
    try await fill(0)
    let receipt = try await stage.parley.post(.node(.bookmarks(one)), by: romeo)
    #expect(isCharged())
    stage.clock.set(stage.clock.now.milliseconds + 60_000)
    // What was published while the list was being written stays; this one is in the second piece.
    let later = try list(99..<100, named: "Later")[0]
    try await publish(later, stage, by: romeo)
    var rest = try #require(receipt.value as? BookmarkChanges)
    let next = try await stage.parley.post(.node(.bookmarkChanges(rest)), by: romeo)
    rest = try #require(next.value as? BookmarkChanges)
    try await stage.parley.post(.node(.bookmarkChanges(rest)), by: romeo)
    #expect(try await stored(stage, romeo) == [later] + list(500..<501))
  }

  @Test func aLongListIsToldOnceASecond() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let old = try await stage.session(romeo, "old")
    stage.parley.hub.update(old) { $0.interests = [Bookmark.listNode] }
    let start = stage.clock.now.milliseconds
    let long = BookmarksDraft(bookmarks: try list(0..<Limits.shortBookmarkListMax + 1), others: nil)
    try await stage.parley.post(.node(.bookmarks(long)), by: romeo)
    #expect(told(old) == 1)
    #expect(await stage.parley.tellBookmarkLists() == .seconds(1))
    for bookmark in try list(500..<510) { try await publish(bookmark, stage, by: romeo) }
    stage.clock.set(start + 999)
    _ = await stage.parley.tellBookmarkLists()
    #expect(told(old) == 0)
    stage.clock.set(start + 1_000)
    #expect(await stage.parley.tellBookmarkLists() == .seconds(1))
    #expect(told(old) == 1, "once for all")
    stage.clock.set(start + 2_000)
    #expect(await stage.parley.tellBookmarkLists() == nil)
    #expect(told(old) == 0)
    // A short list is told at each change.
    let short = BookmarksDraft(bookmarks: try list(0..<2), others: nil)
    try await stage.parley.post(.node(.bookmarks(short)), by: romeo)
    for bookmark in try list(500..<503) { try await publish(bookmark, stage, by: romeo) }
    #expect(told(old) == 4)
  }

  @Test func aListThatIsTooLongIsNotTold() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let old = try await stage.session(romeo, "old")
    stage.parley.hub.update(old) { $0.interests = [Bookmark.listNode] }
    let half = [UInt8](repeating: 0x20, count: Limits.bookmarkListBytesMax / 2)
    let large = try list(0..<2).map { Bookmark(address: $0.address, others: half) }
    try await stage.parley.post(.node(.bookmarks(BookmarksDraft(bookmarks: large, others: nil))), by: romeo)
    #expect(told(old) == 0)
    try await stage.parley.post(.node(.bookmarks(BookmarksDraft(bookmarks: [large[0]], others: nil))), by: romeo)
    #expect(told(old) == 1)
  }
}
