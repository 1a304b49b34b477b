import Addresses
import Dialogs
import DialogsFixtures
import StoreConformance
import Testing

/// Tests of publishing: who is notified, what is stored, what is refused.
@Suite struct NodeTests {
  private func publish(
    _ id: String, _ bytes: [UInt8] = [1], in node: String = "tune", _ conditions: [NodeOption] = []
  ) -> Intent {
    .node(
      .publish(
        NodePublication(
          node: node, item: NodePublication.Item(id: id, content: .opaque(bytes)), conditions: conditions)))
  }

  private func items(_ stage: Stage, _ owner: Party, _ node: String = "tune") async throws -> [String] {
    try await stage.parley.read { try $0.items(in: node, of: owner.id, newest: true, limit: 100).map(\.id) }
  }

  private func events(_ session: RecordingSession) -> [String] {
    session.taken().compactMap {
      guard case .event(let owner, let node, let kind) = $0 else { return nil }
      switch kind {
      case .published(let item): return "\(owner) \(node) +\(item?.id ?? "")"
      case .retracted(let id): return "\(owner) \(node) -\(id)"
      case .purged: return "\(owner) \(node) purged"
      case .deleted: return "\(owner) \(node) deleted"
      case .configured: return "\(owner) \(node) configured"
      case .subscription(let state): return "\(owner) \(node) \(state.map { "\($0)" } ?? "none")"
      case .requested(let address): return "\(owner) \(node) \(address)?"
      }
    }
  }

  private func interested(
    _ stage: Stage, _ party: Party, _ resource: String, in nodes: Set<String>
  ) async throws -> RecordingSession {
    let session = try await stage.session(party, resource)
    stage.parley.hub.update(session) { $0.interests = nodes }
    return session
  }

  private func befriend(_ stage: Stage, _ a: Party, _ b: Party, groups: [String] = []) async throws {
    try await stage.parley.post(.link(b.address, name: nil, groups: groups, mutual: true), by: a)
  }

  @Test func aContactWhoSeesThePresenceAndIsInterestedIsTold() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("paris")
    )
    try await befriend(stage, romeo, juliet)
    let own = try await interested(stage, romeo, "garden", in: ["tune"])
    let friend = try await interested(stage, juliet, "balcony", in: ["tune"])
    let bored = try await interested(stage, juliet, "chamber", in: ["mood"])
    let stranger = try await interested(stage, paris, "street", in: ["tune"])
    for session in [own, friend, bored, stranger] { _ = session.taken() }
    try await stage.parley.post(publish("a"), by: romeo)
    #expect(events(own) == ["romeo tune +a"])
    #expect(events(friend) == ["romeo tune +a"])
    #expect(events(bored) == [])
    #expect(events(stranger) == [])

    try await stage.parley.post(.block([BlockPattern(JID(juliet.address))]), by: romeo)
    _ = friend.taken()
    try await stage.parley.post(publish("b"), by: romeo)
    #expect(events(friend) == [])
    try await stage.parley.post(.unblock([]), by: romeo)
    try await stage.parley.post(.node(.configure(node: "tune", [.access(.whitelist)])), by: romeo)
    _ = (own.taken(), friend.taken())
    try await stage.parley.post(publish("c"), by: romeo)
    #expect(events(own) == ["romeo tune +c"])
    #expect(events(friend) == [])
  }

  /// XEP-0163 3: publishing is not tied to the publisher's presence.
  @Test func friendsAreToldAlsoWhileTheOwnerIsAway() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("paris")
    )
    try await befriend(stage, romeo, juliet, groups: ["Friends"])
    try await befriend(stage, romeo, paris)
    let friend = try await interested(stage, juliet, "balcony", in: ["tune"])
    let rival = try await interested(stage, paris, "street", in: ["tune"])
    let options: [NodeOption] = [.access(.roster), .groups(["Friends"])]
    try await stage.parley.post(publish("a", options), by: romeo)
    #expect(events(friend) == ["romeo tune +a"])
    #expect(events(rival) == [])
  }

  private func publish(_ id: String, _ conditions: [NodeOption]) -> Intent { publish(id, [1], in: "tune", conditions) }

  @Test func aNodeKeepsAsManyItemsAsItSays() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let own = try await interested(stage, romeo, "garden", in: ["tune"])
    for id in ["a", "b", "c", "b"] { try await stage.parley.post(publish(id, [.itemsMax(1)]), by: romeo) }
    #expect(try await items(stage, romeo) == ["b"])
    #expect(events(own) == ["romeo tune +a", "romeo tune +b", "romeo tune +c", "romeo tune +b"])
    try await stage.parley.post(.node(.configure(node: "tune", [.itemsMax(2), .notifiesRetract(true)])), by: romeo)
    for id in ["c", "b", "d"] { try await stage.parley.post(publish(id), by: romeo) }
    #expect(try await items(stage, romeo) == ["b", "d"], "who is published again is the newest")
    #expect(events(own) == ["romeo tune +c", "romeo tune +b", "romeo tune +d", "romeo tune -c"])
    try await stage.parley.post(.node(.configure(node: "tune", [.whenFull(.reject)])), by: romeo)
    await #expect(throws: Problem.nodeFull) { try await stage.parley.post(publish("e"), by: romeo) }
    try await stage.parley.post(publish("b"), by: romeo)
    #expect(try await items(stage, romeo) == ["d", "b"])
    let node = try #require(try await stage.parley.read { try $0.node("tune", of: romeo.id) })
    #expect(node.itemCount == 2)
    #expect(node.byteCount == 2)
    try await stage.parley.post(.node(.configure(node: "tune", [.itemsMax(1)])), by: romeo)
    #expect(try await items(stage, romeo) == ["b"])
  }

  /// The log has one entry per existing item and one per removed item.
  @Test func theLogDoesNotGrowWithWhatIsOverwritten() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    for id in ["a", "a", "b", "a"] { try await stage.parley.post(publish(id, [.itemsMax(nil)]), by: romeo) }
    func changes() async throws -> [NodeChange] {
      try await stage.parley.read { try $0.feed(of: romeo.id, after: .zero, limit: 99) }.compactMap {
        if case .node(let change) = $0.fact { change } else { nil }
      }
    }
    #expect(
      try await changes() == [
        NodeChange(node: "tune", item: "b", act: .published), NodeChange(node: "tune", item: "a", act: .published),
      ])
    try await stage.parley.post(.node(.retract(node: "tune", item: "b", notifies: false)), by: romeo)
    try await stage.parley.post(.node(.purge(node: "tune")), by: romeo)
    try await stage.parley.post(.node(.delete(node: "tune")), by: romeo)
    #expect(try await changes().map(\.act) == [.retracted, .purged, .deleted])
    #expect(try await items(stage, romeo) == [])
    #expect(try await stage.parley.read { try $0.nodes(of: romeo.id) } == [])
  }

  @Test func conditionsAreMetOrMakeTheNode() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let options: [NodeOption] = [.access(.open), .itemsMax(nil), .sendLast(.never)]
    try await stage.parley.post(publish("a", options), by: romeo)
    try await stage.parley.post(publish("b", options), by: romeo)
    await #expect(throws: Problem.preconditionNotMet) {
      try await stage.parley.post(publish("c", [.access(.presence)]), by: romeo)
    }
    #expect(try await items(stage, romeo) == ["a", "b"])
    let node = try #require(try await stage.parley.read { try $0.node("tune", of: romeo.id) })
    #expect(node.configuration.access == .open)
    #expect(node.configuration.sendLast == .never)
    await #expect(throws: Problem.nodeTaken) {
      try await stage.parley.post(.node(.create(node: "tune", [])), by: romeo)
    }
    await #expect(throws: Problem.nodeUnknown) { try await stage.parley.post(.node(.purge(node: "none")), by: romeo) }
    await #expect(throws: Problem.itemUnknown) {
      try await stage.parley.post(.node(.retract(node: "tune", item: "z", notifies: true)), by: romeo)
    }
  }

  @Test func aNodeWithoutItemsOnlyTells() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let own = try await interested(stage, romeo, "garden", in: ["bell"])
    try await stage.parley.post(.node(.create(node: "bell", [.persistsItems(false)])), by: romeo)
    try await stage.parley.post(publish("a", in: "bell"), by: romeo)
    try await stage.parley.post(.node(.publish(NodePublication(node: "bell", item: nil))), by: romeo)
    #expect(events(own) == ["romeo bell +a", "romeo bell +"])
    #expect(try await items(stage, romeo, "bell") == [])
    await #expect(throws: Problem.nodeTransient) {
      try await stage.parley.post(.node(.purge(node: "bell")), by: romeo)
    }
    await #expect(throws: Problem.itemRequired) {
      try await stage.parley.post(.node(.publish(NodePublication(node: "tune", item: nil))), by: romeo)
    }
  }

  @Test func everythingIsBounded() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    await #expect(throws: Problem.payloadTooBig) {
      try await stage.parley.post(publish("a", [UInt8](repeating: 0, count: Limits.itemBytesMax + 1)), by: romeo)
    }
    for intent in [
      publish("", in: "tune"), publish(String(repeating: "x", count: Limits.itemIDBytesMax + 1)),
      publish("a", in: String(repeating: "x", count: Limits.nodeNameBytesMax + 1)), publish("a", [.itemsMax(0)]),
    ] {
      let problem = await #expect(throws: Problem.self) { try await stage.parley.post(intent, by: romeo) }
      #expect(problem?.kind == .malformed)
    }
    #expect(try await stage.parley.read { try $0.nodes(of: romeo.id) } == [], "a refusal leaves nothing")
    for number in 0..<Limits.nodesPerUserMax {
      try await stage.parley.post(.node(.create(node: "\(number)", [])), by: romeo)
    }
    let problem = await #expect(throws: Problem.self) { try await stage.parley.post(publish("a"), by: romeo) }
    #expect(problem?.code == "too-many-nodes")
    try await stage.parley.post(.node(.delete(node: "0")), by: romeo)
    try await stage.parley.post(publish("a"), by: romeo)
  }

  // MARK: Bookmarks

  private func bookmark(_ room: String, _ name: String? = nil, extensions: [UInt8] = []) throws -> Bookmark {
    Bookmark(address: try BareJID("\(room)@conference.localhost"), name: name, extensions: extensions)
  }

  private func bookmarks(_ stage: Stage, _ owner: Party) async throws -> [Bookmark] {
    try await stage.parley.read { try $0.items(in: Bookmark.node, of: owner.id, newest: true, limit: 99) }.compactMap {
      if case .bookmark(let bookmark) = $0.content { bookmark } else { nil }
    }
  }

  @Test func aListChangesWhatDiffers() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let modern = try await interested(stage, romeo, "garden", in: [Bookmark.node])
    let old = try await interested(stage, romeo, "attic", in: [Bookmark.listNode])
    let orchard = try bookmark("orchard", "Orchard", extensions: [7])
    try await stage.parley.post(
      .node(
        .publish(
          NodePublication(
            node: Bookmark.node,
            item: NodePublication.Item(id: orchard.address.description, content: .bookmark(orchard))))),
      by: romeo)
    let (cell, tomb) = (try bookmark("cell"), try bookmark("tomb"))
    try await stage.parley.post(
      .node(.bookmarks(BookmarksDraft(bookmarks: [try bookmark("orchard", "O"), cell, tomb, cell], others: [9]))),
      by: romeo)
    #expect(try await bookmarks(stage, romeo) == [try bookmark("orchard", "O", extensions: [7]), cell, tomb])
    #expect(
      events(modern).map { $0.suffix(26) }
        == [
          "+orchard@conference.localhost", "+orchard@conference.localhost", "+cell@conference.localhost",
          "+tomb@conference.localhost",
        ].map { $0.suffix(26) })
    #expect(events(old) == ["romeo storage:bookmarks +current", "romeo storage:bookmarks +current"], "once for all")
    try await stage.parley.post(.node(.bookmarks(BookmarksDraft(bookmarks: [tomb], others: nil))), by: romeo)
    #expect(try await bookmarks(stage, romeo) == [tomb])
    #expect(
      events(modern).map { String($0.split(separator: " ")[2]) } == [
        "-cell@conference.localhost", "-orchard@conference.localhost",
      ])
    let list = try await stage.parley.read { try Bookmark.list(of: romeo.id, $0) }
    #expect(list?.content == .bookmarks([tomb], others: [9]))
  }

  @Test func theLastBookmarkOfAnAddressCounts() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let (cell, renamed, tomb) = (try bookmark("cell"), try bookmark("cell", "Cell"), try bookmark("tomb"))
    try await stage.parley.post(
      .node(.bookmarks(BookmarksDraft(bookmarks: [cell, tomb, renamed], others: nil))), by: romeo)
    #expect(try await bookmarks(stage, romeo) == [renamed, tomb])
  }

  @Test func bookmarksStayTheirOwners() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    for option in [NodeOption.access(.open), .persistsItems(false)] {
      let problem = await #expect(throws: Problem.self) {
        try await stage.parley.post(.node(.create(node: Bookmark.node, [option])), by: romeo)
      }
      #expect(problem?.code == "option-invalid")
    }
    await #expect(throws: Problem.payloadInvalid) {
      try await stage.parley.post(publish("a@conference.localhost", in: Bookmark.node), by: romeo)
    }
    let problem = await #expect(throws: Problem.self) {
      try await stage.parley.post(publish("current", in: Bookmark.listNode), by: romeo)
    }
    #expect(problem?.code == "node-is-view")
  }

  @Test func aRoomIsBookmarkedForWhoIsAddedAndForgottenWithIt() async throws {
    let stage = try Stage()
    let (romeo, juliet, nurse) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("nurse")
    )
    var settings = RoomSettings.group
    settings.name = "Balcony"
    func members(_ party: Party, _ affiliation: Affiliation) -> [MemberDraft] {
      [MemberDraft(address: party.address, affiliation: affiliation)]
    }
    let receipt = try await stage.parley.post(
      .room(.create(RoomDraft(localpart: "balcony", settings: settings, members: members(romeo, .member)))), by: juliet)
    let room = RoomReference.dialog(try #require(receipt.room).id)
    var expected = try bookmark("balcony", "Balcony")
    expected.autojoins = true
    #expect(try await bookmarks(stage, romeo) == [expected])
    expected.nick = "juliet"
    #expect(try await bookmarks(stage, juliet) == [expected], "who makes a room is in it, too")
    expected.nick = nil

    // The fields that the user has written stay.
    var kept = expected
    kept.autojoins = false
    kept.extensions = [7]
    try await stage.parley.post(
      .node(
        .publish(
          NodePublication(
            node: Bookmark.node,
            item: NodePublication.Item(id: kept.address.description, content: .bookmark(kept))))),
      by: romeo)
    try await stage.parley.post(.room(.members(room, members(romeo, .admin))), by: juliet)
    #expect(try await bookmarks(stage, romeo) == [kept], "a change of rank is none of membership")
    try await stage.parley.post(.room(.members(room, members(romeo, .none))), by: juliet)
    #expect(try await bookmarks(stage, romeo) == [])
    try await stage.parley.post(.room(.members(room, members(romeo, .member))), by: juliet)
    try await stage.parley.post(.room(.members(room, members(nurse, .member))), by: juliet)
    #expect(try await bookmarks(stage, nurse).map(\.autojoins) == [true])
    try await stage.parley.post(.room(.destroy(room, reason: nil, alternate: nil)), by: juliet)
    #expect(try await bookmarks(stage, romeo) == [])
    #expect(try await bookmarks(stage, nurse) == [])
  }

  // MARK: Private XML

  @Test func privateXMLIsReplacedAndBounded() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    func kept(_ name: String) async throws -> [UInt8]? {
      try await stage.parley.read { try $0.value(of: romeo.id, node: ValueKey.privateXML, item: name) }
    }
    try await stage.parley.post(
      .setPrivateXML([PrivateXMLDraft(name: "a", bytes: [1]), PrivateXMLDraft(name: "b", bytes: [2])]), by: romeo)
    try await stage.parley.post(.setPrivateXML([PrivateXMLDraft(name: "a", bytes: [3])]), by: romeo)
    #expect(try await kept("a") == [3])
    #expect(try await kept("b") == [2])
    let more = (0..<Limits.privateXMLMax - 1).map { PrivateXMLDraft(name: "\($0)", bytes: [0]) }
    await #expect(throws: Problem.self) { try await stage.parley.post(.setPrivateXML(more), by: romeo) }
    #expect(try await kept("0") == nil)
    try await stage.parley.post(.setPrivateXML([PrivateXMLDraft(name: "b", bytes: nil)] + more), by: romeo)
    #expect(try await kept("b") == nil)
    #expect(try await kept("0") == [0])
    await #expect(throws: Problem.self) {
      try await stage.parley.post(
        .setPrivateXML([PrivateXMLDraft(name: "a", bytes: [UInt8](repeating: 0, count: Limits.privateXMLBytesMax + 1))]
        ), by: romeo)
    }
  }
}
