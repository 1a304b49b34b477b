import Addresses
import Dialogs
import DialogsFixtures
import Testing

/// Nodes of a service: who may create and change them, whose quota they count for, and what they leave in the log.
@Suite struct PubsubServiceTests {
  private let address: BareJID

  init() throws { address = try BareJID("pubsub.localhost") }

  private func code(_ body: () async throws -> Void) async -> String? {
    do {
      try await body()
      return nil
    } catch { return (error as? Problem)?.code }
  }

  private func post(_ intent: NodeIntent, by author: Party, _ stage: Stage) async throws {
    try await stage.parley.post(.node(intent, at: address), by: author)
  }

  @Test(arguments: PubsubServices.Creators.allCases)
  func theConfigurationSaysWhoCreatesNodes(creators: PubsubServices.Creators) async throws {
    let stage = try Stage(admins: [try BareJID("nurse@localhost")], creators: creators)
    let (nurse, romeo) = (try await stage.user("nurse"), try await stage.user("romeo"))
    let refused = Problem.nodeCreation.code
    let byAdmin = await code { try await post(.create(node: "a", []), by: nurse, stage) }
    #expect(byAdmin == (creators == .nobody ? refused : nil))
    let byUser = await code { try await post(.create(node: "b", []), by: romeo, stage) }
    #expect(byUser == (creators == .users ? nil : refused))
    // Nobody creates a node by publishing in it, and everybody creates nodes at their account.
    let draft = NodePublication(node: "c", item: NodePublication.Item(id: "1", content: .opaque([])))
    #expect(await code { try await post(.publish(draft), by: nurse, stage) } == Problem.nodeUnknown.code)
    try await stage.parley.post(.node(.publish(draft)), by: romeo)
  }

  @Test func nobodyReachesTheServiceOfAnotherDomain() async throws {
    let stage = try Stage(domains: ["localhost", "verona.example"])
    let romeo = try await stage.user("romeo")
    for text in ["pubsub.verona.example", "juliet@localhost", "pubsub@pubsub.localhost", "localhost"] {
      let other = try BareJID(text)
      let refusal = await code { try await stage.parley.post(.node(.create(node: "n", []), at: other), by: romeo) }
      #expect(refusal == Problem.notYours.code, "\(text)")
    }
  }

  /// The items of a node count for who has created it: one user cannot fill the service for another.
  @Test func nodesCountForTheirCreators() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    try await post(.create(node: "his", [.publishers(.open)]), by: romeo, stage)
    try await post(.create(node: "hers", []), by: juliet, stage)
    func draft(_ id: String, in node: String) -> NodeIntent {
      let bytes = [UInt8](repeating: 32, count: Limits.itemBytesMax)
      return .publish(NodePublication(node: node, item: NodePublication.Item(id: id, content: .opaque(bytes))))
    }
    let most = Limits.publishedWithOthersBytesMax / Limits.itemBytesMax
    for number in 0..<most { try await post(draft("\(number)", in: "his"), by: juliet, stage) }
    let full = Problem.publishedTooMuch.code
    #expect(await code { try await post(draft("more", in: "his"), by: juliet, stage) } == full)
    try await post(draft("own", in: "his"), by: romeo, stage)
    try await post(draft("own", in: "hers"), by: juliet, stage)
    let service = try #require(stage.parley.pubsub.service(at: address, for: romeo))
    let published = try await stage.parley.read {
      (
        try $0.published(by: service.id, creator: romeo.address),
        try $0.published(by: service.id, creator: juliet.address), try $0.published(by: romeo.id, creator: nil)
      )
    }
    #expect(published.0 == (1, (most + 1) * Limits.itemBytesMax))
    #expect(published.1 == (1, Limits.itemBytesMax))
    #expect(published.2 == (0, 0))
  }

  /// The author's affiliations with the other nodes of the service, which may be thousands, are not read for a change of one.
  @Test func theOwnersOfANodeAreAmongItsPeople() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    try await post(.create(node: "n", []), by: romeo, stage)
    try await post(.configure(node: "n", [.title("a")]), by: romeo, stage)
    let service = try #require(stage.parley.pubsub.service(at: address, for: romeo))
    // Nobody else removes such a row behind the committer: it shows whether rows are read.
    try await stage.parley.work(keepingCaches: true) {
      try $0.setAffiliation(nil, of: romeo.address, in: "n", of: service.id)
    }
    try await post(.configure(node: "n", [.title("b")]), by: romeo, stage)
  }

  /// Items are ordered by positions of the log, in which a service leaves no entry.
  @Test func aServiceHasPositionsAndNoEntries() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let session = try await stage.session(romeo, "orchard")
    try await post(.create(node: "n", []), by: romeo, stage)
    func publish(_ id: String) async throws {
      let item = NodePublication.Item(id: id, content: .opaque([1]))
      try await post(.publish(NodePublication(node: "n", item: item)), by: romeo, stage)
    }
    for id in ["a", "b", "a"] { try await publish(id) }
    let service = try #require(stage.parley.pubsub.service(of: romeo.realm))
    func items() async throws -> [NodeItem] {
      try await stage.parley.read {
        try $0.items(in: "n", of: service.id, after: .zero, before: .end, newest: true, limit: 9)
      }
    }
    let found = try await items()
    #expect(found.map(\.id) == ["b", "a"])
    #expect(found[0].position < found[1].position)
    #expect(found.allSatisfy { $0.publisher == romeo.address })
    try await post(.purge(node: "n"), by: romeo, stage)
    #expect(try await items() == [])
    try await post(.delete(node: "n"), by: romeo, stage)
    #expect(session.taken().isEmpty, "who has not subscribed is told nothing, and the log has no entry")
  }

  @Test func oneOwnerRemains() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    try await post(.create(node: "n", []), by: romeo, stage)
    let receipt = try await stage.parley.post(
      .node(.affiliate(node: "n", [romeo.address: .outcast, juliet.address: .member]), at: address), by: romeo)
    #expect(receipt.value as? [BareJID: NodeAffiliation?] == [romeo.address: .owner])
    let exchange: [BareJID: NodeAffiliation?] = [romeo.address: nil, juliet.address: .owner]
    try await post(.affiliate(node: "n", exchange), by: romeo, stage)
    #expect(await code { try await post(.delete(node: "n"), by: romeo, stage) } == Problem.notYours.code)
    try await post(.delete(node: "n"), by: juliet, stage)
  }
}
