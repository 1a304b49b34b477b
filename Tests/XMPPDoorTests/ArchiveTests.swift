import Addresses
import Basics
import Dialogs
import DialogsFixtures
import Testing
import XMLStream
import XMPP

@testable import XMPPDoor

@Suite("Archive queries (XEP-0313)")
struct ArchiveTests {
  let romeo: Party
  let juliet: Party
  /// A store with twenty messages in Romeo's archive, and a later one that is in Juliet's alone.
  let stage: Stage

  init() throws {
    let (romeo, juliet) = (try party(1, "romeo@montague.lit"), try party(2, "juliet@montague.lit"))
    self.romeo = romeo
    self.juliet = juliet
    func said(_ number: Int64) -> Entry {
      message(
        number, from: number % 2 == 0 ? juliet : romeo, to: number % 2 == 0 ? romeo : juliet,
        extras: "<body>\(number)</body>", time: Timestamp(milliseconds: someTime.milliseconds + number * 1_000))
    }
    stage = try Self.stage(romeo, juliet, (1...20).map(said))
    try stage.store.write { try $0.insert(said(50), feeds: [FeedRow(user: juliet.id, traits: .archived)], key: nil) }
  }

  /// Returns a store with the messages in Romeo's archive.
  private static func stage(_ romeo: Party, _ juliet: Party, _ entries: [Entry]) throws -> Stage {
    let stage = try Stage(domains: ["montague.lit"])
    try stage.store.write { writer in
      for party in [romeo, juliet] {
        let user = try writer.insertUser(party.address, in: party.realm, profile: Profile(), createdAt: someTime)
        #expect(user.id == party.id)
      }
      let dialog = try writer.insert(dialog: .privately, first: romeo, second: juliet, createdAt: someTime)
      #expect(entries.allSatisfy { $0.dialog == dialog.id })
      for entry in entries {
        try writer.insert(entry, feeds: [FeedRow(user: romeo.id, traits: .archived)], key: nil)
      }
    }
    return stage
  }

  /// Ids are the positions themselves, up to 100.
  private func request(_ form: String = "", _ rest: String = "") throws -> ArchiveRequest {
    let x =
      form.isEmpty
      ? ""
      : "<x xmlns='jabber:x:data' type='submit'><field var='FORM_TYPE' type='hidden'><value>urn:xmpp:mam:2</value></field>\(form)</x>"
    let query = try stanza("<query xmlns='urn:xmpp:mam:2' queryid='f27'>\(x)\(rest)</query>")
    return try ArchiveRequest(query) { id in
      id.high == 0 && id.low <= 100 ? Position(Int64(id.low)) : nil
    }
  }

  private func id(_ number: UInt64) -> String { PublicID(high: 0, low: number).description }
  private func field(_ name: String, _ values: String...) -> String {
    "<field var='\(name)'>\(values.map { "<value>\($0)</value>" }.joined())</field>"
  }
  private func set(_ content: String) -> String { "<set xmlns='http://jabber.org/protocol/rsm'>\(content)</set>" }

  private func numbers(_ form: String = "", _ rest: String = "") throws -> (numbers: [Int64], complete: Bool)? {
    try page(request(form, rest), stage).map { ($0.entries.map(\.position.number), $0.complete) }
  }

  private func page(_ request: ArchiveRequest, _ stage: Stage) throws -> ArchivePage? {
    try stage.store.read { try request.page(of: romeo, $0) }
  }

  private func refusal(_ form: String = "", _ rest: String = "") -> StanzaError.Condition? {
    do {
      _ = try request(form, rest)
      return nil
    } catch let error as StanzaError { return error.condition } catch { return nil }
  }

  @Test("4: everything, by the page") func plain() throws {
    let request = try request()
    #expect(request.queryID == "f27")
    #expect(request.limit == 50)
    let page = try #require(try numbers())
    #expect(page.numbers == Array(1...20))
    #expect(page.complete)
  }

  @Test("4.3.2: pages forward and backward") func paging() throws {
    let first = try #require(try numbers("", set("<max>5</max>")))
    #expect(first.numbers == [1, 2, 3, 4, 5])
    #expect(!first.complete)
    let next = try #require(try numbers("", set("<max>5</max><after>\(id(5))</after>")))
    #expect(next.numbers == [6, 7, 8, 9, 10])
    let last = try #require(try numbers("", set("<max>5</max><before/>")))
    #expect(last.numbers == [16, 17, 18, 19, 20])
    let before = try #require(try numbers("", set("<max>5</max><before>\(id(4))</before>")))
    #expect(before.numbers == [1, 2, 3])
    #expect(before.complete)
    #expect(try request("", set("<max>1000</max>")).limit == XMPPLimits.resultSetPageMax)
  }

  @Test func aReadThatHasFoundNothingIsFollowedByOneBehindIt() throws {
    let forwards = try request(field("after-id", id(3))).behind(Position(7))
    #expect(forwards.anchors.isEmpty)
    #expect(try page(forwards, stage)?.entries.first?.position == Position(8))
    let backwards = try request("", set("<max>5</max><before/>")).behind(Position(7))
    #expect(try page(backwards, stage)?.entries.map(\.position.number) == [2, 3, 4, 5, 6])
  }

  @Test("4.1.1: with") func with() throws {
    #expect(try numbers(field("with", "juliet@montague.lit"))?.numbers.count == 20)
    #expect(try #require(try numbers(field("with", "nobody@montague.lit"))) == ([], true))
    #expect(try request(field("with", "juliet@montague.lit/balcony")).with?.resource == "balcony")
    #expect(refusal(field("with", "@")) == .jidMalformed)
  }

  @Test("4.1.2: start and end, both included") func times() throws {
    let page = try numbers(field("start", "2010-07-10T23:08:27Z") + field("end", "2010-07-10T23:08:29Z"))
    #expect(page?.numbers == [2, 3, 4])
    #expect(refusal(field("start", "yesterday")) == .badRequest)
  }

  @Test("4.1.3: before-id, after-id, ids") func ids() throws {
    #expect(try numbers(field("after-id", id(3)) + field("before-id", id(7)))?.numbers == [4, 5, 6])
    #expect(try numbers(field("after-id", id(3)), set("<max>2</max><after>\(id(5))</after>"))?.numbers == [6, 7])
    let single = try #require(try numbers(field("ids", id(9), id(2), id(9))))
    #expect(single.numbers == [2, 9])
    #expect(single.complete)
    let paged = try #require(try numbers(field("ids", id(1), id(2), id(3)), set("<max>2</max>")))
    #expect(paged.numbers == [1, 2])
    #expect(!paged.complete)
    #expect(try numbers(field("ids", id(3)) + field("end", "2010-07-10T23:08:26Z"))?.numbers == [])
  }

  @Test("4.1.3, 4.3.2: unknown ids are item-not-found") func unknownIDs() throws {
    // Made up.
    #expect(refusal(field("after-id", id(101))) == .itemNotFound)
    #expect(refusal(field("ids", "28482-98726-73623")) == .itemNotFound)
    #expect(refusal("", set("<before>09af3-cc343-b409f</before>")) == .itemNotFound)
    // Somebody else's.
    #expect(try numbers(field("after-id", id(50))) == nil)
    #expect(try numbers(field("ids", id(1), id(50))) == nil)
    #expect(try numbers("", set("<after>\(id(50))</after>")) == nil)
  }

  @Test("4.1.5: unknown fields") func unknownFields() throws {
    #expect(refusal(field("{http://example.com/}free-text-search", "x")) == .featureNotImplemented)
    #expect(refusal(field("include-groupchat", "true")) == nil)
    #expect(refusal(field("include-groupchat", "perhaps")) == .notAcceptable)
    #expect(refusal(field("with", "romeo@montague.lit") + field("with", "juliet@capulet.lit")) == .badRequest)
    #expect(refusal(field("with", "romeo@montague.lit", "juliet@capulet.lit")) == .notAcceptable)
    #expect(refusal("", set("<index>3</index>")) == .featureNotImplemented)
  }

  @Test("XEP-0059 2.6: asked for nothing") func nothing() throws {
    #expect(try #require(try numbers("", set("<max>0</max>"))) == ([], false))
    #expect(try #require(try numbers(field("after-id", id(20)), set("<max>0</max>"))) == ([], true))
  }

  @Test("4.3.4: flipping") func flipping() throws {
    #expect(try request("", "<flip-page/>").isFlipped)
    #expect(try !request().isFlipped)
  }

  @Test func largeMessagesMakeSmallPages() throws {
    let large = String(repeating: "x", count: 100_000)
    func stage(_ texts: [String]) throws -> Stage {
      try Self.stage(
        romeo, juliet, texts.enumerated().map { message(Int64($0 + 1), from: romeo, to: juliet, extras: $1) })
    }
    let whole = try stage(Array(repeating: "<body>\(large)</body>", count: 10))
    let first = try #require(try page(request(), whole))
    #expect(first.entries.map(\.position.number) == [1, 2])
    #expect(!first.complete)
    let last = try #require(try page(request("", set("<before/>")), whole))
    #expect(last.entries.map(\.position.number) == [9, 10])
    // One always fits.
    let huge = String(repeating: "x", count: 300_000)
    #expect(try page(request(), stage([huge, huge]))?.entries.count == 1)
    // The query id, which is repeated in each result, counts too.
    var named = try request()
    named.queryID = large
    #expect(try page(named, stage(Array(repeating: "<body>short</body>", count: 10)))?.entries.count == 2)
  }

  @Test("4.2: a result") func result() throws {
    let entry = message(
      7, from: juliet, to: romeo, extras: "<body>What man art thou</body><x xmlns='urn:x'/>", toResource: "orchard",
      id: "8a54s")
    let result = try element {
      Archive.write(entry, queryID: "f27", for: romeo, to: "romeo@montague.lit/orchard", { _, _ in "" }, into: &$0)
    }
    let expected = try stanza(
      """
      <message to='romeo@montague.lit/orchard' from='romeo@montague.lit'>\
      <result xmlns='urn:xmpp:mam:2' queryid='f27' id='\(id(7))'><forwarded xmlns='urn:xmpp:forward:0'>\
      <delay xmlns='urn:xmpp:delay' stamp='2010-07-10T23:08:25.000Z'/>\
      <message xmlns='jabber:client' from='juliet@montague.lit/orchard' to='romeo@montague.lit/orchard' type='chat' id='8a54s'>\
      <body>What man art thou</body><x xmlns='urn:x'/></message></forwarded></result></message>
      """)
    #expect(result == expected)
  }
}
