import Addresses
import Dialogs
import DialogsFixtures
import StoreConformance
import Testing

/// Tests of one profile in all its forms, whichever is written.
@Suite struct ProfileTests {
  private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
  private let rose = Avatar(Self.signature + [1])
  private let lark = Avatar(Self.signature + [2])
  private let all = Set(ProfileNode.allCases.map(\.rawValue))

  private func publish(
    _ content: NodeContent, _ id: String, in view: ProfileNode, _ conditions: [NodeOption] = []
  ) -> Intent {
    .node(
      .publish(
        NodePublication(
          node: view.rawValue, item: NodePublication.Item(id: id, content: content), conditions: conditions)))
  }

  private func metadata(_ avatar: Avatar) -> NodeContent {
    .avatarMetadata(AvatarMetadata(hashes: [avatar.hash], form: .said([1])))
  }

  private func profile(_ stage: Stage, _ party: Party) async throws -> Profile {
    try #require(try await stage.parley.read { try $0.user(party.id) }).profile
  }

  private func item(_ stage: Stage, _ party: Party, _ view: ProfileNode) async throws -> NodeContent? {
    try await stage.parley.read { try $0.items(in: view.rawValue, of: party.id, newest: true, limit: 9).last?.content }
  }

  private func stored(_ stage: Stage, _ party: Party) async throws -> Avatar? {
    try await stage.parley.read { reader in try reader.user(party.id).flatMap { try reader.avatar(of: $0) } }
  }

  /// Events by the end of the node's name.
  private func events(_ session: RecordingSession) -> [String] {
    session.taken().compactMap {
      guard case .event(_, let node, let kind) = $0 else { return nil }
      let name = node.split { ":/".contains($0) }.last ?? ""
      switch kind {
      case .published: return "\(name) +"
      case .retracted: return "\(name) -"
      case .purged, .deleted, .configured, .subscription, .requested: return "\(name)"
      }
    }
  }

  private func listener(_ stage: Stage, _ party: Party) async throws -> RecordingSession {
    let session = try await stage.session(party, "garden")
    let all = all
    stage.parley.hub.update(session) { $0.interests = all }
    return session
  }

  // MARK: Users with a name from before

  @Test func aNameFromBeforeStandsInItsNodes() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    #expect(try await item(stage, romeo, .nickname) == nil)
    let session = try await listener(stage, romeo)
    #expect(try await item(stage, romeo, .nickname) == .nickname("romeo"))
    #expect(try await item(stage, romeo, .vCard4) == .card(Card4(fullName: nil, displayName: "romeo")))
    #expect(events(session) == [], "nothing has changed")
    #expect(try await stage.parley.read { try $0.feed(of: romeo.id, after: .zero, limit: 9) }.isEmpty)
    // Taken away, it does not come back by itself.
    try await stage.parley.post(.node(.delete(node: ProfileNode.nickname.rawValue)), by: romeo)
    #expect(try await profile(stage, romeo).displayName == nil)
    _ = try await stage.session(romeo, "later")
    #expect(try await item(stage, romeo, .nickname) == nil)
  }

  // MARK: Pictures

  @Test func aPictureOfTheAppOrAVCardIsPublished() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let session = try await listener(stage, romeo)
    try await stage.parley.post(.profile(ProfileDraft(avatar: rose)), by: romeo)
    #expect(events(session) == ["data +", "metadata +", "vcard4 +"], "data first (XEP-0398 3.2)")
    #expect(try await item(stage, romeo, .avatarData) == .avatar(rose))
    let info = AvatarMetadata(hashes: [rose.hash], form: .info(AvatarMetadata.Info(rose)))
    #expect(try await item(stage, romeo, .avatarMetadata) == .avatarMetadata(info))

    let receipt = try await stage.parley.post(.profile(ProfileDraft(avatar: rose)), by: romeo)
    #expect(receipt.isRepeat)
    #expect(session.taken() == [], "the same again is no news")

    try await stage.parley.post(.profile(ProfileDraft(avatar: .some(nil))), by: romeo)
    #expect(events(session) == ["metadata +", "vcard4 +"])
    #expect(try await item(stage, romeo, .avatarMetadata) == .avatarMetadata(AvatarMetadata(hashes: [], form: .none)))
    #expect(try await item(stage, romeo, .avatarData) == nil, "taken away is taken away")
    #expect(try await stored(stage, romeo) == nil)
  }

  @Test func aFileThatIsNoPictureIsNotPublished() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    _ = try await listener(stage, romeo)
    try await stage.parley.post(.profile(ProfileDraft(avatar: rose)), by: romeo)
    try await stage.parley.post(.profile(ProfileDraft(avatar: Avatar(Array("<svg/>".utf8)))), by: romeo)
    #expect(try await stored(stage, romeo)?.mediaType == Avatar.unknownType)
    #expect(try await item(stage, romeo, .avatarMetadata) == .avatarMetadata(AvatarMetadata(hashes: [], form: .none)))
    #expect(try await item(stage, romeo, .avatarData) == nil)
  }

  @Test func aPublishedPictureIsTheProfiles() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let session = try await listener(stage, romeo)
    await #expect(throws: Problem.self) {
      try await stage.parley.post(publish(metadata(rose), rose.hash, in: .avatarMetadata), by: romeo)
    }
    #expect(try await item(stage, romeo, .avatarMetadata) == nil, "a refusal leaves nothing")
    try await stage.parley.post(publish(.avatar(rose), rose.hash, in: .avatarData), by: romeo)
    #expect(try await profile(stage, romeo).avatarHash == nil, "data alone shows nothing")
    try await stage.parley.post(publish(metadata(rose), rose.hash, in: .avatarMetadata), by: romeo)
    #expect(events(session) == ["data +", "metadata +", "vcard4 +"], "each once")
    #expect(try await profile(stage, romeo).avatarHash == rose.hash)
    #expect(try await stored(stage, romeo) == rose)
    #expect(try await item(stage, romeo, .avatarMetadata) == metadata(rose), "as it was said")

    // The next one's data takes the place of this one's; this one is shown until it is replaced.
    try await stage.parley.post(publish(.avatar(lark), lark.hash, in: .avatarData), by: romeo)
    #expect(try await stored(stage, romeo) == rose)
    // The data of a picture that is set again is stored again.
    try await stage.parley.post(publish(metadata(rose), rose.hash, in: .avatarMetadata), by: romeo)
    #expect(try await stored(stage, romeo) == rose)
    #expect(try await item(stage, romeo, .avatarData) == .avatar(rose))
  }

  @Test(arguments: ["disable", "elsewhere", "retract", "purge", "delete", "delete data", "retract data"])
  func aPictureIsTakenAway(_ how: String) async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    try await stage.parley.post(publish(.avatar(rose), rose.hash, in: .avatarData), by: romeo)
    try await stage.parley.post(publish(metadata(rose), rose.hash, in: .avatarMetadata), by: romeo)
    let session = try await listener(stage, romeo)
    let (metadata, data) = (ProfileNode.avatarMetadata.rawValue, ProfileNode.avatarData.rawValue)
    let none = NodeContent.avatarMetadata(AvatarMetadata(hashes: [], form: .none))
    let intent: Intent =
      switch how {
      case "disable": publish(none, "x", in: .avatarMetadata)
      case "elsewhere":
        publish(.avatarMetadata(AvatarMetadata(hashes: [], form: .said([2]))), "x", in: .avatarMetadata)
      case "retract": .node(.retract(node: metadata, item: rose.hash, notifies: true))
      case "purge": .node(.purge(node: metadata))
      case "delete": .node(.delete(node: metadata))
      case "delete data": .node(.delete(node: data))
      default: .node(.retract(node: data, item: rose.hash, notifies: false))
      }
    try await stage.parley.post(intent, by: romeo)
    #expect(try await profile(stage, romeo).avatarHash == nil)
    #expect(try await stored(stage, romeo) == nil)
    let heard = session.taken()
    #expect(heard.filter { $0 == .profile("romeo") }.count == 1)
    if how.hasSuffix("data") {
      #expect(try await item(stage, romeo, .avatarMetadata) == none, "contacts are told")
    } else {
      #expect(try await item(stage, romeo, .avatarData) == .avatar(rose), "the client's to take away")
    }
  }

  /// However many items a node of vCards was configured to have, the newest is kept.
  @Test func aNodeOfVCardsHasOneItem() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    for id in ["a", "b", "c"] {
      let card = Card4(fullName: nil, displayName: "Romeo", bytes: Array(id.utf8))
      try await stage.parley.post(publish(.card(card), id, in: .vCard4, [.itemsMax(nil)]), by: romeo)
    }
    let node = ProfileNode.vCard4.rawValue
    #expect(try await stage.parley.read { try $0.itemIDs(in: node, of: romeo.id) } == ["c"])
    #expect(try await stage.parley.read { try $0.node(node, of: romeo.id)?.itemCount } == 1)
  }

  @Test func anItemRemovedFromTheMiddleChangesNothing() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    for avatar in [rose, lark] {
      try await stage.parley.post(publish(.avatar(avatar), avatar.hash, in: .avatarData, [.itemsMax(2)]), by: romeo)
      try await stage.parley.post(
        publish(metadata(avatar), avatar.hash, in: .avatarMetadata, [.itemsMax(2)]), by: romeo)
    }
    func retract(_ avatar: Avatar) -> Intent {
      .node(.retract(node: ProfileNode.avatarMetadata.rawValue, item: avatar.hash, notifies: false))
    }
    #expect(try await stored(stage, romeo) == lark)
    try await stage.parley.post(retract(lark), by: romeo)
    #expect(try await stored(stage, romeo) == rose, "what is newest now")
    try await stage.parley.post(publish(metadata(lark), lark.hash, in: .avatarMetadata), by: romeo)
    try await stage.parley.post(retract(rose), by: romeo)
    #expect(try await stored(stage, romeo) == lark)
  }

  @Test func aViewerWhoMayNotReadTheNodesDoesNotSeeThePicture() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("paris")
    )
    try await stage.parley.post(.link(juliet.address, name: nil, groups: [], mutual: true), by: romeo)
    func sees(_ viewer: Party) async throws -> Bool {
      try await stage.parley.read { reader in
        try reader.user(romeo.id).flatMap { try reader.avatar(of: $0, for: viewer) } != nil
      }
    }
    try await stage.parley.post(publish(.avatar(rose), rose.hash, in: .avatarData), by: romeo)
    try await stage.parley.post(publish(metadata(rose), rose.hash, in: .avatarMetadata), by: romeo)
    #expect(try await [sees(romeo), sees(juliet), sees(paris)] == [true, true, false])
    for node in [ProfileNode.avatarData, .avatarMetadata] {
      try await stage.parley.post(.node(.configure(node: node.rawValue, [.access(.open)])), by: romeo)
    }
    #expect(try await [sees(romeo), sees(juliet), sees(paris)] == [true, true, true])
    try await stage.parley.post(
      .node(.configure(node: ProfileNode.avatarData.rawValue, [.access(.whitelist)])), by: romeo)
    #expect(try await [sees(romeo), sees(juliet), sees(paris)] == [true, false, false])
    // An app's picture is everybody's where nobody said otherwise.
    try await stage.parley.post(.profile(ProfileDraft(avatar: lark)), by: paris)
    #expect(
      try await stage.parley.read { reader in
        try reader.user(paris.id).flatMap { try reader.avatar(of: $0, for: romeo) }
      } == lark)
  }

  // MARK: Names

  @Test func aNicknameOfWhichNothingIsVisibleIsNone() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let card = Card4(fullName: "Romeo Montague", displayName: "Romeo", bytes: [7])
    try await stage.parley.post(publish(.card(card), "mine", in: .vCard4), by: romeo)
    try await stage.parley.post(publish(.nickname("\u{3164}"), "a", in: .nickname), by: romeo)
    #expect(try await profile(stage, romeo).displayName == "Romeo Montague", "the full name is left")
  }

  @Test func aNameIsOneEverywhere() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let session = try await listener(stage, romeo)
    try await stage.parley.post(publish(.nickname("Monty"), "a", in: .nickname), by: romeo)
    #expect(events(session) == ["nick +", "vcard4 +"])
    #expect(try await profile(stage, romeo).displayName == "Monty")
    #expect(try await item(stage, romeo, .vCard4) == .card(Card4(fullName: nil, displayName: "Monty")))

    let card = Card4(fullName: "Romeo Montague", displayName: "Romeo", bytes: [7])
    try await stage.parley.post(publish(.card(card), "mine", in: .vCard4), by: romeo)
    #expect(events(session) == ["vcard4 +", "nick +"])
    #expect(try await profile(stage, romeo).displayName == "Romeo")
    #expect(try await item(stage, romeo, .nickname) == .nickname("Romeo"))
    #expect(try await stage.parley.read { try $0.fullName(of: romeo.id) } == "Romeo Montague")

    // The app's name is both; what else the card says stays.
    try await stage.parley.post(.profile(ProfileDraft(displayName: "R", fullName: .some(nil))), by: romeo)
    #expect(events(session) == ["nick +", "vcard4 +"])
    #expect(try await item(stage, romeo, .vCard4) == .card(Card4(fullName: nil, displayName: "R", bytes: [7])))
    #expect(
      try await stage.parley.read {
        try $0.items(in: ProfileNode.nickname.rawValue, of: romeo.id, newest: true, limit: 9).map(\.id)
      } == ["a"], "under the id that the client gave")

    try await stage.parley.post(publish(.card(card), "mine", in: .vCard4), by: romeo)
    try await stage.parley.post(.node(.purge(node: ProfileNode.nickname.rawValue)), by: romeo)
    #expect(try await profile(stage, romeo).displayName == "Romeo Montague", "the full name is left")
    try await stage.parley.post(.profile(ProfileDraft(displayName: .some(nil), fullName: .some(nil))), by: romeo)
    #expect(try await item(stage, romeo, .nickname) == nil)
    #expect(try await profile(stage, romeo).displayName == nil)
  }

  /// Clients may keep many names in the node. They are removed with one event.
  @Test func aNodeOfManyNamesIsClearedAtOnce() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let session = try await listener(stage, romeo)
    let node = ProfileNode.nickname.rawValue
    try await stage.parley.post(.node(.configure(node: node, [.itemsMax(nil)])), by: romeo)
    for number in 0..<5 {
      try await stage.parley.post(publish(.nickname("Monty \(number)"), "\(number)", in: .nickname), by: romeo)
    }
    _ = events(session)
    try await stage.parley.post(.profile(ProfileDraft(displayName: .some(nil))), by: romeo)
    #expect(events(session) == ["nick", "vcard4 +"])
    #expect(try await item(stage, romeo, .nickname) == nil)
    // Behind what the post has left for later.
    try await stage.parley.post(.confirm(.zero), by: romeo)
    let entries = try await stage.parley.read { try $0.feed(of: romeo.id, after: .zero, limit: 99) }
    let changes = entries.compactMap { entry -> NodeChange? in
      if case .node(let change) = entry.fact, change.node == node { change } else { nil }
    }
    #expect(changes.map(\.act) == [.purged])
  }

  @Test func aPictureInAVCard4IsThePicture() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let session = try await listener(stage, romeo)
    let card = Card4(fullName: nil, displayName: "romeo", photo: rose)
    try await stage.parley.post(publish(.card(card), "mine", in: .vCard4), by: romeo)
    #expect(events(session) == ["vcard4 +", "data +", "metadata +"])
    #expect(try await stored(stage, romeo) == rose)
    try await stage.parley.post(
      publish(.card(Card4(fullName: nil, displayName: "romeo")), "mine", in: .vCard4), by: romeo)
    #expect(try await stored(stage, romeo) == rose, "another way to set it is not a word against it")
  }

  // MARK: Refusals

  @Test func theNodesHoldNothingElse() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    for view in ProfileNode.allCases {
      await #expect(throws: Problem.payloadInvalid) {
        try await stage.parley.post(publish(.opaque([1]), "a", in: view), by: romeo)
      }
      let problem = await #expect(throws: Problem.self) {
        try await stage.parley.post(.node(.create(node: view.rawValue, [.persistsItems(false)])), by: romeo)
      }
      #expect(problem?.code == "option-invalid")
    }
    await #expect(throws: Problem.payloadInvalid) {
      try await stage.parley.post(
        .node(.publish(NodePublication(node: "tune", item: .init(id: "a", content: .nickname("a"))))), by: romeo)
    }
    let large = Avatar([UInt8](repeating: 0, count: Limits.avatarBytesMax + 1))
    let long = String(repeating: "x", count: Limits.displayNameBytesMax + 1)
    for intent in [
      publish(.avatar(rose), lark.hash, in: .avatarData), publish(.avatar(large), large.hash, in: .avatarData),
      publish(.nickname(long), "a", in: .nickname),
      publish(.card(Card4(fullName: long, displayName: nil)), "a", in: .vCard4),
      publish(.card(Card4(fullName: nil, displayName: nil, photo: large)), "a", in: .vCard4),
    ] { await #expect(throws: Problem.self) { try await stage.parley.post(intent, by: romeo) } }
    let nodes = try await stage.parley.read { try $0.nodes(of: romeo.id).map(\.name) }
    #expect(nodes == [])
    #expect(try await profile(stage, romeo) == Profile(displayName: "romeo"))
  }

  /// A user whose nodes are full can still change the avatar.
  @Test func aFullAccountIsNotRefusedItsProfile() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    for number in 0..<Limits.nodesPerUserMax {
      try await stage.parley.post(.node(.create(node: "\(number)", [])), by: romeo)
    }
    try await stage.parley.post(.profile(ProfileDraft(avatar: rose)), by: romeo)
    #expect(try await item(stage, romeo, .avatarData) == .avatar(rose))
  }

  /// A batch that fails leaves neither profile nor items; the next one has both.
  @Test func aFailedCommitLeavesNothing() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let session = try await listener(stage, romeo)
    stage.store.failNext(1)
    await #expect(throws: Problem.self) {
      try await stage.parley.post(.profile(ProfileDraft(displayName: "R", avatar: rose)), by: romeo)
    }
    #expect(session.taken() == [])
    #expect(try await profile(stage, romeo) == Profile(displayName: "romeo"))
    #expect(try await item(stage, romeo, .avatarData) == nil)
    try await stage.parley.post(.profile(ProfileDraft(displayName: "R", avatar: rose)), by: romeo)
    #expect(try await item(stage, romeo, .nickname) == .nickname("R"))
    #expect(try await item(stage, romeo, .avatarData) == .avatar(rose))
  }
}
