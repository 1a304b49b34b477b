import Addresses
import Basics
import Dialogs
import DialogsFixtures
import Logging
import Peers
import Testing
import XMLStream
import XMPP
import XMPPFixtures

@testable import XMPPDoor

/// Block lists of other services (`Blocklists.swift`).
@Suite(.timeLimit(.minutes(1))) struct BlocklistTests {
  private static let node = "muc_bans_sha256"

  /// The hash of an address or a domain, as a list has it.
  private static func id(_ address: String) throws -> String {
    let jid = try #require(BareJID(parsing: address))
    return Hex.string(BlocklistEntry.hashes(of: jid)[0])
  }

  /// A service that answers from a script, and notes what it is asked.
  private final class Service: Sendable {
    private let answers: Locked<[String?]>
    private let asked = Locked<[String]>([])
    init(_ answers: [String?]) { self.answers = Locked(answers) }

    var requests: [String] { asked.withLock { $0 } }
    func script(_ more: [String?]) { answers.withLock { $0 += more } }

    func answer(_ type: IQType, _ payload: [UInt8], _ service: JID) -> Stanza? {
      asked.withLock { $0.append("\(type.text) \(service): \(String(decoding: payload, as: UTF8.self))") }
      guard let xml = answers.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { return nil }
      return stanza(xml)
    }
  }

  private static func stanza(_ xml: String) -> Stanza? {
    StanzaBytes.stanza { $0.raw(Array(xml.utf8)) }
  }

  private static let subscribed = """
    <iq type='result' id='1'><pubsub xmlns='http://jabber.org/protocol/pubsub'>\
    <subscription node='muc_bans_sha256' jid='localhost' subscription='subscribed'/></pubsub></iq>
    """

  private static func items(_ ids: [String], last: String? = nil) -> String {
    let page = last.map { "<set xmlns='http://jabber.org/protocol/rsm'><last>\($0)</last></set>" } ?? ""
    return """
      <iq type='result' id='1'><pubsub xmlns='http://jabber.org/protocol/pubsub'><items node='muc_bans_sha256'>\
      \(ids.map { "<item id='\($0)'/>" }.joined())</items>\(page)</pubsub></iq>
      """
  }

  private static func event(_ content: String) -> Stanza? {
    stanza("<message><event xmlns='http://jabber.org/protocol/pubsub#event'>\(content)</event></message>")
  }

  private static let error =
    "<iq type='error' id='1'><error type='cancel'>"
    + "<item-not-found xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></iq>"

  private func lists(
    _ stage: Stage, _ service: Service, _ names: [String] = ["rtbl.example/muc_bans_sha256"],
    limits: BlocklistLimits = BlocklistLimits()
  ) -> Blocklists {
    Blocklists(
      names.compactMap { BlocklistOption($0) }, of: "localhost", stage.parley, on: Lane { $0() },
      logger: Logger(label: "lists") { _ in SwiftLogNoOpLogHandler() }, limits: limits
    ) { service.answer($0, $1, $2) }
  }

  private func address(_ text: String) throws -> BareJID { try #require(BareJID(parsing: text)) }

  // MARK: Words

  @Test func aListIsAServiceAndANode() throws {
    let option = try #require(BlocklistOption("rtbl.example/muc/bans"))
    #expect(option.service == JID(parsing: "rtbl.example") && option.node == "muc/bans")
    #expect(option.description == "rtbl.example/muc/bans")
    #expect(
      ["rtbl.example", "rtbl.example/", "/node", "@/node"].map { BlocklistOption($0) == nil } == [
        true, true, true, true,
      ])
  }

  /// XEP-0060 7.1.2.1, 7.2.2.1, 8.5.3; ids that are no hashes are passed over.
  @Test func changesAreReadInTheirOrder() throws {
    let (a, b) = (try Self.id("a@spam.example"), try Self.id("spam.example"))
    let hashes = [a, b].compactMap { BlocklistItems.hash($0) }
    func changes(_ content: String) throws -> [BlocklistItems.Change]? {
      BlocklistItems.changes(in: try #require(Self.event(content)).element, of: Self.node)
    }
    #expect(
      try changes(
        "<items node='muc_bans_sha256'><item id='\(a)'/><item id='spam.example'/><item id='\(b.uppercased())'>"
          + "<report xmlns='urn:xmpp:reporting:1' reason='urn:xmpp:reporting:spam'/></item><retract id='\(a)'/></items>"
      )
        == [.added(hashes[0]), .added(hashes[1]), .removed(hashes[0])])
    #expect(try changes("<purge node='muc_bans_sha256'/>") == [.emptied])
    #expect(try changes("<delete node='muc_bans_sha256'/>") == [.emptied])
    #expect(try changes("<items node='other'><item id='\(a)'/></items>") == [])
    #expect(
      BlocklistItems.changes(in: try #require(Self.stanza("<message><body>hi</body></message>")).element, of: "x")
        == nil)
  }

  // MARK: Following

  /// XEP-0060 6.1, 6.5.4.
  @Test func aListIsSubscribedToAndReadPageByPage() async throws {
    let stage = try Stage()
    let (a, b) = (try Self.id("mallory@spam.example"), try Self.id("bots.example"))
    let service = Service([Self.subscribed, Self.items([a], last: a), Self.items([b], last: b), Self.items([])])
    let lists = lists(stage, service)
    #expect(await lists.read(try #require(BlocklistOption("rtbl.example/muc_bans_sha256"))))
    #expect(
      service.requests == [
        "set rtbl.example: <pubsub xmlns='http://jabber.org/protocol/pubsub'>"
          + "<subscribe node='muc_bans_sha256' jid='localhost'/></pubsub>"
      ]
        + [nil, a, b].map { after in
          "get rtbl.example: <pubsub xmlns='http://jabber.org/protocol/pubsub'><items node='muc_bans_sha256'/>"
            + "<set xmlns='http://jabber.org/protocol/rsm'><max>200</max>\(after.map { "<after>\($0)</after>" } ?? "")"
            + "</set></pubsub>"
        })
    // An address, and everybody of a domain; not the domain of an address, nor what is below it.
    #expect(
      try ["mallory@spam.example", "x@bots.example", "bots.example", "trudy@spam.example", "x@a.bots.example"].map {
        lists.isListed(try address($0))
      } == [true, true, true, false, false])
    #expect(lists.counts == ["rtbl.example/muc_bans_sha256": 2])
  }

  /// Prosody's service knows no pages, and answers with all items.
  @Test func aServiceWithoutPagesIsReadAtOnce() async throws {
    let stage = try Stage()
    let service = Service([
      Self.subscribed, Self.items([try Self.id("a@spam.example"), try Self.id("b@spam.example")]),
    ])
    let lists = lists(stage, service)
    #expect(await lists.read(try #require(BlocklistOption("rtbl.example/muc_bans_sha256"))))
    #expect(service.requests.count == 2)
    #expect(lists.isListed(try address("b@spam.example")))
  }

  @Test func notificationsChangeTheListAndOnlyThoseOfTheService() async throws {
    let stage = try Stage()
    let (a, b) = (try Self.id("a@spam.example"), try Self.id("b@spam.example"))
    let lists = lists(stage, Service([]))
    let added = try #require(Self.event("<items node='muc_bans_sha256'><item id='\(a)'/><item id='\(b)'/></items>"))
    let other = try #require(JID(parsing: "mallory@spam.example"))
    #expect(!lists.received(added, from: other))
    #expect(!lists.isListed(try address("a@spam.example")))
    let service = try #require(JID(parsing: "rtbl.example"))
    #expect(lists.received(added, from: service))
    #expect(lists.isListed(try address("a@spam.example")))
    let removed = try #require(Self.event("<items node='muc_bans_sha256'><retract id='\(a)'/></items>"))
    #expect(lists.received(removed, from: service))
    #expect(!lists.isListed(try address("a@spam.example")))
    // What was told is there after a restart, also while the service is away; what is not followed any more is gone.
    try await stage.parley.work { _ in }
    let after = self.lists(stage, Service([]))
    try await after.load()
    #expect(after.isListed(try address("b@spam.example")))
    #expect(!after.isListed(try address("a@spam.example")))
    #expect(!(await after.read(try #require(BlocklistOption("rtbl.example/muc_bans_sha256")))))
    #expect(after.isListed(try address("b@spam.example")))
    let unfollowed = self.lists(stage, Service([]), ["other.example/node"])
    try await unfollowed.load()
    #expect(!unfollowed.isListed(try address("b@spam.example")))
    #expect(try await stage.parley.read { try $0.records(RecordQuery<BlocklistEntry>([])) } == [])
  }

  @Test func aListThatIsTooLongIsNotReadAndStaysAsItWas() async throws {
    let stage = try Stage()
    let option = try #require(BlocklistOption("rtbl.example/muc_bans_sha256"))
    let ids = try ["a", "b", "c", "d"].map { try Self.id("\($0)@spam.example") }
    func isListed(_ lists: Blocklists) throws -> [Bool] {
      try ["a", "b", "c", "d"].map { lists.isListed(try address("\($0)@spam.example")) }
    }
    // Too many entries, at once or one after another; too many pages.
    let service = Service([
      Self.subscribed, Self.items([ids[0]]), Self.subscribed, Self.items(Array(ids[1...])), Self.subscribed,
      Self.items([ids[1]], last: "1"), Self.items([ids[2]], last: "2"), Self.items([]),
    ])
    let lists = lists(stage, service, limits: BlocklistLimits(entries: 2, pages: 2))
    #expect(await lists.read(option))
    #expect(!(await lists.read(option)))
    #expect(!(await lists.read(option)))
    #expect(try isListed(lists) == [true, false, false, false])
    let notification = try #require(
      Self.event("<items node='muc_bans_sha256'>\(ids.map { "<item id='\($0)'/>" }.joined())</items>"))
    #expect(lists.received(notification, from: try #require(JID(parsing: "rtbl.example"))))
    #expect(try isListed(lists) == [true, false, false, false])
  }

  @Test func aListThatIsReadAgainReplacesWhatWasThere() async throws {
    let stage = try Stage()
    let option = try #require(BlocklistOption("rtbl.example/muc_bans_sha256"))
    let (a, b) = (try Self.id("a@spam.example"), try Self.id("b@spam.example"))
    let service = Service([Self.subscribed, Self.items([a]), Self.error, Self.error, nil, Self.items([b])])
    let lists = lists(stage, service)
    #expect(await lists.read(option))
    // Neither an error nor silence unlists anybody.
    #expect(!(await lists.read(option)))
    #expect(lists.isListed(try address("a@spam.example")))
    // A service that refuses subscribers, but shows its list, is read from time to time.
    #expect(await lists.read(option))
    #expect(!lists.isListed(try address("a@spam.example")))
    #expect(lists.isListed(try address("b@spam.example")))
    try await stage.parley.work { _ in }
    let stored = try await stage.parley.read { try $0.records(RecordQuery<BlocklistEntry>([])) }
    #expect(stored.map(\.hash) == [BlocklistItems.hash(b)])
  }
}
