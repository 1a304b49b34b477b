import Addresses
import Dialogs
import DialogsFixtures
import NIOCore
import Testing
import XMLStream
import XMPP

@testable import XMPPDoor

@Suite("Personal eventing")
struct PEPTests {
  private static let pubsub = "xmlns='http://jabber.org/protocol/pubsub'"
  private static let optionsForm = "http://jabber.org/protocol/pubsub#publish-options"

  private func request(_ content: String, isSet: Bool = true) throws -> PubsubRequest {
    try PubsubRequest(try stanza("<pubsub \(Self.pubsub)>\(content)</pubsub>"), isSet: isSet)
  }

  private func form(_ type: String, _ fields: [(String, [String])]) -> DataForm {
    DataForm(.submit, formType: type, fields: fields.map { DataForm.Field($0.0, values: $0.1) })
  }

  private func refusal(_ body: () throws -> Void) -> StanzaError? {
    do {
      try body()
      return nil
    } catch { return error as? StanzaError }
  }

  // MARK: Requests

  @Test func aPublicationIsRead() throws {
    guard
      case .publish(let request) = try request(
        """
        <publish node='tune'><item id='a'><tune xmlns='urn:tune'/></item></publish><publish-options>\
        <x xmlns='jabber:x:data' type='submit'><field var='FORM_TYPE'><value>\(Self.optionsForm)</value></field>\
        <field var='pubsub#access_model'><value>open</value></field></x></publish-options>
        """)
    else { throw PlainError() }
    #expect(request.node == "tune")
    #expect(request.item?.id == "a")
    #expect(request.item?.payload?.namespace == "urn:tune")
    #expect(request.conditions == [.access(.open)])
    guard case .publish(let bare) = try self.request("<publish node='bell'/>") else { throw PlainError() }
    #expect(bare.item == nil)
    #expect(bare.conditions == [])
  }

  @Test func refusalsNameTheMissingPart() throws {
    func condition(_ content: String, isSet: Bool = true) -> String? {
      refusal { _ = try request(content, isSet: isSet) }?.application?.local
    }
    #expect(condition("<publish><item/></publish>") == "nodeid-required")
    #expect(condition("<publish node='n'><item><a xmlns='x'/><b xmlns='x'/></item></publish>") == "invalid-payload")
    #expect(condition("<publish node='n'><item><a xmlns=''/></item></publish>") == "invalid-payload")
    #expect(condition("<retract node='n'/>") == "item-required")
    #expect(condition("<retract node='n'><item/></retract>") == "item-required")
    #expect(condition("<retract node='n'><item id='a'/><item id='b'/></retract>") == "item-required")
    #expect(condition("<retract><item id='a'/></retract>") == "nodeid-required")
    #expect(condition("<items/>", isSet: false) == "nodeid-required")
    #expect(condition("<subscribe jid='a@b'/>") == "nodeid-required")
    #expect(condition("<subscribe node='n'/>") == "invalid-jid")
    #expect(condition("<subscribe node='n' jid='@'/>") == "invalid-jid")
    #expect(condition("<unsubscribe node='n'/>") == "jid-required")
    #expect(condition("<options node='n'/>", isSet: false) == "jid-required")
    #expect(condition("<options jid='a@b'/>", isSet: false) == "nodeid-required")
    #expect(refusal { _ = try request("<publish node='n'><item/><item/></publish>") }?.condition == .badRequest)
    #expect(refusal { _ = try request("") }?.condition == .badRequest)
    #expect(refusal { _ = try request("<items node='n' max_items='0'/>", isSet: false) }?.condition == .badRequest)
    #expect(refusal { _ = try request("<create node='n'/><configure node='n'/>") }?.condition == .badRequest)
    for wrong in [
      "<subscribe node='n' jid='a@b'/><options node='n'/>", "<subscribe node='n' jid='a@b'/><options/>", "<other/>",
      "<subscriptions/>", "<items node='n'/>",
    ] { #expect(refusal { _ = try request(wrong) }?.condition == .badRequest) }
    let set = "<set xmlns='http://jabber.org/protocol/rsm'><index>3</index></set>"
    #expect(
      refusal { _ = try request("<items node='n'/>\(set)", isSet: false) }?.condition == .featureNotImplemented)
  }

  @Test func itemsAreAskedFor() throws {
    guard
      case .items(let request) = try request(
        "<items node='n' max_items='2'><item id='a'/><item id='b'/><item id='a'/></items>", isSet: false)
    else { throw PlainError() }
    #expect(request.max == 2)
    #expect(request.ids == ["a", "b"])
    let many = (0...DoorLimits.itemsNamedMax).map { "<item id='\($0)'/>" }.joined()
    #expect(
      refusal { _ = try self.request("<items node='n'>\(many)</items>", isSet: false) }?.condition == .policyViolation)
  }

  @Test func ownersAskForMore() throws {
    func owner(_ content: String, isSet: Bool) throws -> OwnerRequest {
      try OwnerRequest(
        try stanza("<pubsub xmlns='http://jabber.org/protocol/pubsub#owner'>\(content)</pubsub>"), isSet: isSet)
    }
    #expect(try owner("<configure node='n'/>", isSet: false) == .configuration(node: "n"))
    #expect(try owner("<default/>", isSet: false) == .defaults)
    #expect(try owner("<purge node='n'/>", isSet: true) == .purge(node: "n"))
    #expect(try owner("<delete node='n'><redirect uri='x'/></delete>", isSet: true) == .delete(node: "n"))
    #expect(
      try owner("<configure node='n'><x xmlns='jabber:x:data' type='cancel'/></configure>", isSet: true)
        == .cancel(node: "n"))
    #expect(refusal { _ = try owner("<configure/>", isSet: false) }?.application?.local == "nodeid-required")
  }

  /// XEP-0060 8.8.2, 8.9.2.
  @Test func ownersNameWhomTheyMean() throws {
    func owner(_ content: String) throws -> OwnerRequest {
      try OwnerRequest(
        try stanza("<pubsub xmlns='http://jabber.org/protocol/pubsub#owner'>\(content)</pubsub>"), isSet: true)
    }
    #expect(
      try owner(
        """
        <affiliations node='n'><affiliation jid='a@b/c' affiliation='member'/><affiliation jid='d@b'/>\
        <affiliation jid='e@b' affiliation='none'/><affiliation jid='f@b' affiliation='owner'/>\
        <affiliation jid='g@b' affiliation='publish-only'/></affiliations>
        """)
        == .affiliate(
          node: "n",
          [
            try bare("a@b"): .member, try bare("e@b"): nil, try bare("f@b"): .owner, try bare("g@b"): .publishOnly,
          ]))
    #expect(
      try owner(
        """
        <subscriptions node='n'><subscription jid='a@b/c' subscription='subscribed'/>\
        <subscription jid='a@b' subscription='none'/><subscription jid='d@b'/></subscriptions>
        """)
        == .setSubscribers(node: "n", [try JID("a@b/c"): .subscribed, try JID("a@b"): nil]))
    for (content, condition) in [
      ("<affiliation jid='a@b' affiliation='king'/>", StanzaError.Condition.badRequest),
      ("<affiliation jid='a@b' affiliation='none'/><affiliation jid='A@b' affiliation='member'/>", .badRequest),
      ("<affiliation affiliation='none'/>", .badRequest),
      (
        (0...DoorLimits.nodePeopleNamedMax).map { "<affiliation jid='\($0)@b' affiliation='none'/>" }.joined(),
        .policyViolation
      ),
    ] {
      #expect(refusal { _ = try owner("<affiliations node='n'>\(content)</affiliations>") }?.condition == condition)
    }
    #expect(
      refusal {
        _ = try owner("<subscriptions node='n'><subscription jid='a@b' subscription='unconfigured'/></subscriptions>")
      }?.condition == .notAcceptable)
    #expect(refusal { _ = try owner("<affiliations/>") }?.application?.local == "nodeid-required")
  }

  // MARK: Forms

  @Test func aFormTakesWhatItOffers() throws {
    var configuration = NodeConfiguration()
    configuration.access = .roster
    configuration.groups = ["Friends", "Servants"]
    configuration.itemsMax = nil
    configuration.whenFull = .reject
    configuration.sendLast = .never
    configuration.deliversPayloads = false
    configuration.title = "Tunes"
    configuration.publishers = .subscribers
    configuration.namesPublisher = true
    var offered = NodeForm.form(of: configuration)
    offered.kind = .submit
    let written = try DataForm(try element { offered.write(into: &$0) })
    var read = NodeConfiguration()
    for option in try NodeForm.options(written) { option.apply(to: &read) }
    #expect(read == configuration)
  }

  @Test func aFormChangesWhatItNames() throws {
    let type = NodeForm.formType
    #expect(try NodeForm.options(form(type, [])) == [])
    #expect(try NodeForm.options(form(type, [("pubsub#max_items", ["max"])])) == [.itemsMax(nil)])
    #expect(try NodeForm.options(form(type, [("pubsub#max_items", ["12"]), ("other", ["x"])])) == [.itemsMax(12)])
    // An emptied field empties; where a value must be chosen, it leaves that as it is.
    for empty in [[], [""]] {
      #expect(
        try NodeForm.options(
          form(
            type,
            [
              ("pubsub#title", empty), ("pubsub#description", empty), ("pubsub#type", empty),
              ("pubsub#roster_groups_allowed", empty), ("pubsub#max_items", empty), ("pubsub#access_model", empty),
              ("pubsub#persist_items", empty), ("pubsub#publish_model", empty), ("pubsub#item_expire", empty),
            ])) == [.groups([]), .itemsMax(nil), .title(nil), .about(nil), .type(nil)])
    }
    #expect(
      try NodeForm.options(form(type, [("pubsub#publish_model", ["publishers"])])) == [.publishers(.publishers)])
    for wrong in [
      ("pubsub#max_items", "many"), ("pubsub#persist_items", "maybe"), ("pubsub#send_last_published_item", "often"),
      ("pubsub#publish_model", "all"), ("pubsub#node_type", "collection"), ("pubsub#itemreply", "owner"),
    ] { #expect(refusal { _ = try NodeForm.options(form(type, [(wrong.0, [wrong.1])])) }?.condition == .notAcceptable) }
    #expect(
      refusal { _ = try NodeForm.options(form(type, [("pubsub#access_model", ["secret"])])) }?.application?.local
        == "unsupported-access-model")
    #expect(refusal { _ = try NodeForm.options(form("urn:other", [])) }?.condition == .badRequest)
  }

  /// XEP-0004 3.2: only the groups are a list.
  @Test func severalValuesWhereOneIsMeantAreRefused() throws {
    let type = NodeForm.formType
    for field in [
      "pubsub#access_model", "pubsub#max_items", "pubsub#persist_items", "pubsub#title", "pubsub#description",
      "pubsub#type", "pubsub#publish_model", "pubsub#itemreply", "pubsub#tempsub",
    ] {
      let error = refusal { _ = try NodeForm.options(form(type, [(field, ["0", "0"])])) }
      #expect(error?.condition == .notAcceptable && error?.text?.contains(field) == true, "\(field)")
    }
    #expect(
      try NodeForm.options(form(type, [("pubsub#roster_groups_allowed", ["a", "b"])])) == [.groups(["a", "b"])])
    let twice = form(Self.optionsForm, [("pubsub#tempsub", ["0", "0"])])
    #expect(refusal { _ = try NodeForm.conditions(twice) }?.application?.local == "precondition-not-met")
  }

  /// XEP-0060 7.1.5.
  @Test func unknownOptionsAreNotPromised() throws {
    let options = Self.optionsForm
    #expect(
      try NodeForm.conditions(
        form(
          options, [("pubsub#persist_items", ["true"]), ("pubsub#item_expire", ["max"]), ("pubsub#max_items", ["1"])]))
        == [.persistsItems(true), .itemsMax(1)])
    for field in [("pubsub#unheard_of", "1"), ("pubsub#tempsub", "1"), ("pubsub#item_expire", "60")] {
      let error = refusal { _ = try NodeForm.conditions(form(options, [(field.0, [field.1])])) }
      #expect(error?.condition == .conflict)
      #expect(error?.application?.local == "precondition-not-met")
    }
    #expect(refusal { _ = try NodeForm.conditions(form(NodeForm.formType, [])) }?.condition == .badRequest)
  }

  // MARK: Events

  private func event(
    _ kind: NodeEvent.Kind, isLast: Bool = false, _ change: (inout NodeConfiguration) -> Void = { _ in }
  ) throws -> String {
    var configuration = NodeConfiguration()
    change(&configuration)
    let event = NodeEvent(
      owner: try party(1, "juliet@capulet.lit"), node: "tune", kind: kind, configuration: configuration, isLast: isLast)
    return written { NodeWriter.write(event, id: "e", into: &$0) }
  }

  @Test func eventsHaveTheFormOfTheXEP() throws {
    let head =
      "<message from='juliet@capulet.lit' type='headline' id='e'><event xmlns='http://jabber.org/protocol/pubsub#event'>"
    let item = NodeItem(
      id: "a", content: .opaque(Array("<tune xmlns='urn:tune'/>".utf8)), position: Position(1), time: someTime)
    #expect(
      try event(.published(item))
        == head + "<items node='tune'><item id='a'><tune xmlns='urn:tune'/></item></items></event></message>")
    #expect(
      try event(.published(item)) { $0.deliversPayloads = false }
        == head + "<items node='tune'><item id='a'/></items></event></message>")
    #expect(
      try event(.published(item), isLast: true)
        == head
        + "<items node='tune'><item id='a'><tune xmlns='urn:tune'/></item></items></event><delay xmlns='urn:xmpp:delay' stamp='2010-07-10T23:08:25.000Z'/></message>"
    )
    let visitor = NodeItem(
      id: "a", content: .opaque([]), position: Position(1), time: someTime, publisher: try bare("romeo@capulet.lit"))
    #expect(
      try event(.published(visitor))
        == head + "<items node='tune'><item id='a' publisher='romeo@capulet.lit'/></items></event></message>")
    #expect(
      try event(.published(item)) {
        $0.deliversPayloads = false
        $0.namesPublisher = true
      } == head + "<items node='tune'><item id='a' publisher='juliet@capulet.lit'/></items></event></message>")
    #expect(try event(.published(nil)) == head + "<items node='tune'/></event></message>")
    #expect(try event(.retracted("a")) == head + "<items node='tune'><retract id='a'/></items></event></message>")
    #expect(try event(.purged) == head + "<purge node='tune'/></event></message>")
    #expect(try event(.deleted) == head + "<delete node='tune'/></event></message>")
    #expect(
      try event(.configured) { $0.deliversPayloads = false } == head + "<configuration node='tune'/></event></message>")
  }

  /// 6.3.
  @Test func optionsOfASubscriptionAreOneField() throws {
    let type = "http://jabber.org/protocol/pubsub#subscribe_options"
    #expect(try SubscriptionForm.isPaused(form(type, [("pubsub#deliver", ["0"]), ("pubsub#digest", ["0"])])) == true)
    #expect(try SubscriptionForm.isPaused(form(type, [("pubsub#deliver", ["true"])])) == false)
    #expect(try SubscriptionForm.isPaused(form(type, [])) == nil)
    #expect(try SubscriptionForm.isPaused(form(type, [("pubsub#deliver", [])])) == nil)
    for wrong in [("pubsub#digest", "1"), ("pubsub#expire", "presence"), ("pubsub#deliver", "maybe")] {
      let error = refusal { _ = try SubscriptionForm.isPaused(self.form(type, [(wrong.0, [wrong.1])])) }
      #expect(error?.condition == .badRequest)
      #expect(error?.application?.local == "invalid-options")
    }
    #expect(refusal { _ = try SubscriptionForm.isPaused(self.form("urn:other", [])) } != nil)
  }

  /// 8.6.
  @Test func anOwnersAnswerIsReadAndNothingElse() throws {
    let jid = try JID("horatio@denmark.lit/inn")
    var form = AuthorizationForm.form(node: "n", jid)
    func read(_ form: DataForm) throws -> AuthorizationForm? {
      AuthorizationForm(try element { form.write(into: &$0) })
    }
    #expect(try read(form) == nil, "the question itself")
    form.kind = .submit
    #expect(try read(form) == .decided(node: "n", jid, isAllowed: false))
    form.fields = form.fields.map { $0.name == "pubsub#allow" ? DataForm.Field("pubsub#allow", true) : $0 }
    #expect(try read(form) == .decided(node: "n", jid, isAllowed: true))
    let answer = form
    form.fields.append(DataForm.Field("pubsub#allow", false))
    #expect(try read(form) == nil, "yes and no")
    form = answer
    form.kind = .cancel
    #expect(try read(form) == .undecided)
    form.kind = .submit
    form.fields.removeAll { $0.name == "pubsub#allow" }
    #expect(try read(form) == nil)
    #expect(try read(DataForm(.submit, formType: "urn:other")) == nil)
    #expect(AuthorizationForm(try stanza("<x xmlns='jabber:x:data'/>")) == nil)
  }

  // MARK: Pages

  /// Returns a store with a node of as many items.
  private func published(_ count: Int, _ item: (Int) -> (id: String, bytes: [UInt8])) throws -> (Stage, Node) {
    let stage = try Stage()
    let node = try stage.store.write { writer in
      let owner = try writer.insertUser(
        try BareJID("romeo@localhost"), in: RealmID(1), profile: Profile(), createdAt: someTime)
      let items = (1...count).map {
        NodeItem(
          id: item($0).id, content: .opaque(item($0).bytes), position: Position(Int64($0)), time: someTime)
      }
      let node = Node(
        owner: owner.id, name: "n", configuration: NodeConfiguration(), createdAt: someTime, itemCount: count,
        byteCount: items.reduce(0) { $0 + $1.content.byteCount })
      try writer.put(node)
      for item in items { try writer.put(item, in: node.name, of: node.owner) }
      return node
    }
    return (stage, node)
  }

  /// 5.5: what the ids alone weigh is bounded too.
  @Test func theNewestOfTooManyNamesAreGiven() throws {
    func name(_ number: Int) -> String { "\(number)" + String(repeating: "x", count: Limits.itemIDBytesMax - 4) }
    let (stage, node) = try published(1_000) { (name($0), []) }
    func stored() throws -> [String] { try stage.store.read { try ItemsPage.ids(of: node, $0) } }
    let ids = try stored()
    #expect(ids == (1...1_000).suffix(ids.count).map(name))
    #expect(ids.reduce(0) { $0 + $1.utf8.count } <= DoorLimits.itemsBytesMax)
    #expect(ids.count > 100)
    guard case .items(let request) = try request("<items node='n'/>", isSet: false) else { throw PlainError() }
    let page = try stage.store.read { try ItemsPage(request, of: node, $0) }
    #expect(page?.items.count == ids.count)
    try stage.store.write { writer in
      for number in 41...1_000 { try writer.removeItem(name(number), in: node.name, of: node.owner) }
    }
    #expect(try stored() == (1...40).map(name))
    _ = try stage.store.write { try $0.removeItems(in: node.name, of: node.owner, oldest: .max) }
    #expect(try stored() == [])
  }

  /// 6.5.4: of what does not fit the newest are given; a page holds the first that fit.
  @Test func asManyItemsAreGivenAsFit() throws {
    let bytes = Array("<a xmlns='x'>\(String(repeating: "x", count: 150_000))</a>".utf8)
    let (stage, node) = try published(5) { ("\($0)", bytes) }
    func page(_ content: String) throws -> ItemsPage? {
      guard case .items(let request) = try request(content, isSet: false) else { throw PlainError() }
      return try stage.store.read { try ItemsPage(request, of: node, $0) }
    }
    func ids(_ content: String) throws -> [String]? { try page(content)?.items.map(\.id) }
    func set(_ content: String) -> String {
      "<items node='n'/><set xmlns='http://jabber.org/protocol/rsm'>\(content)</set>"
    }
    let newest = try #require(try page("<items node='n'/>"))
    #expect(newest.items.map(\.id) == ["3", "4", "5"])
    #expect(
      written { newest.write(of: node, owner: "o@b", into: &$0) }.hasSuffix(
        "<set xmlns='http://jabber.org/protocol/rsm'><first>3</first><last>5</last><count>5</count></set></pubsub>"))
    let two = try #require(try page("<items node='n' max_items='2'/>"))
    #expect(two.items.map(\.id) == ["4", "5"])
    #expect(two.isSilent)
    #expect(!written { two.write(of: node, owner: "o@b", into: &$0) }.contains("<set"))

    #expect(try ids(set("<max>2</max>")) == ["1", "2"])
    #expect(try ids(set("<max>9</max>")) == ["1", "2", "3"])
    #expect(try ids(set("<max>9</max><after>3</after>")) == ["4", "5"])
    #expect(try ids(set("<max>9</max><after>5</after>")) == [])
    #expect(try ids(set("<max>2</max><before/>")) == ["4", "5"])
    #expect(try ids(set("<max>2</max><before>4</before>")) == ["2", "3"])
    #expect(try ids(set("<max>9</max><after>1</after><before>4</before>")) == ["2", "3"])
    #expect(try ids(set("<after>9</after>")) == nil)
    let none = try #require(try page(set("<max>0</max>")))
    #expect(none.items == [])
    #expect(none.count == 5)
    #expect(!none.isSilent)
    #expect(try ids("<items node='n'><item id='5'/><item id='x'/><item id='1'/></items>") == ["5", "1"])
    #expect(
      try ids("<items node='n'>\((1...5).map { "<item id='\($0)'/>" }.joined())</items>") == ["1", "2", "3"])
  }

  // MARK: Bytes

  /// The item that is returned is the one that was sent, even with content that is hostile to hand-written XML.
  @Test func payloadsComeBackAsTheyWere() throws {
    for payload in [
      "<a xmlns='urn:a' b='&lt;&amp;&quot;&apos;&#9;&#10;&#13;'>&lt;!-- ]]&gt; &amp;amp; &#13;</a>",
      "<p:a xmlns:p='urn:p' p:b='1' xmlns:q='urn:q'><q:c xml:lang='de'> \u{1F339} </q:c><d xmlns=''/></p:a>",
      "<message xmlns='jabber:client' from='romeo@montague.lit'><body/></message>",
      "<item xmlns='http://jabber.org/protocol/pubsub' id='x'><item/></item>",
      "<event xmlns='http://jabber.org/protocol/pubsub#event'><items node='n'><item/></items></event>",
    ] {
      guard
        case .publish(let publication) = try request("<publish node='n'><item id='a'>\(payload)</item></publish>"),
        let sent = publication.item?.payload
      else { throw PlainError() }
      let item = NodeItem(
        id: "a", content: .opaque(sent.serialised(defaultNamespace: "")), position: Position(1), time: someTime)
      let event = NodeEvent(
        owner: try party(1, "juliet@capulet.lit"), node: "n", kind: .published(item),
        configuration: NodeConfiguration())
      let told = try element { NodeWriter.write(event, id: "e", into: &$0) }
      let inEvent = told.children.first { _ in true }?.children.first { _ in true }?.children.first { _ in true }
      #expect(inEvent?.children.first { _ in true } == sent, "\(payload)")
      let node = Node(owner: UserID(1), name: "n", configuration: NodeConfiguration(), createdAt: someTime)
      let page = ItemsPage(items: [item], count: 1, isSilent: true)
      let answer = try element { page.write(of: node, owner: "o@b", into: &$0) }
      let inAnswer = answer.children.first { _ in true }?.children.first { _ in true }
      #expect(inAnswer?.children.first { _ in true } == sent, "\(payload)")
    }
  }

  /// There is one encoding for all recipients: the bytes after `to` are the same storage.
  @Test func anEventIsEncodedOnce() throws {
    let item = NodeItem(id: "a", content: .opaque([]), position: Position(1), time: someTime)
    let event = NodeEvent(
      owner: try party(1, "juliet@capulet.lit"), node: "n", kind: .published(item), configuration: NodeConfiguration())
    // Each encoding has an id of its own.
    let encodings = Set((0..<500).map { _ in String(buffer: NodeWriter.tail(of: event)) })
    #expect(encodings.count == 1)
    let other = NodeEvent(
      owner: event.owner, node: "n", kind: event.kind, configuration: event.configuration)
    #expect(!encodings.contains(String(buffer: NodeWriter.tail(of: other))))
  }

  // MARK: Bookmarks

  @Test func aBookmarkIsReadAndWrittenWhole() throws {
    let text =
      "<conference xmlns='urn:xmpp:bookmarks:1' name='The Play' autojoin='true'><nick>JC</nick><password>p</password>"
      + "<extensions><state xmlns='urn:state' minimized='true'/></extensions><minimize xmlns='bookmarks:gajim'>1</minimize></conference>"
    let bookmark = try BookmarkElement.read(try stanza(text), id: "ThePlay@chat.shakespeare.lit")
    #expect(bookmark.address == (try bare("theplay@chat.shakespeare.lit")))
    #expect(bookmark.name == "The Play")
    #expect(bookmark.autojoins)
    #expect(bookmark.nick == "JC")
    #expect(bookmark.password == "p")
    #expect(try element { BookmarkElement.write(bookmark, into: &$0) } == stanza(text))

    let least = try BookmarkElement.read(try stanza("<conference xmlns='urn:xmpp:bookmarks:1'/>"), id: "a@b")
    #expect(least == Bookmark(address: try bare("a@b")))
    for id in ["", "not an address@", "a@b/c"] {
      #expect(
        refusal { _ = try BookmarkElement.read(try stanza("<conference xmlns='urn:xmpp:bookmarks:1'/>"), id: id) }
          != nil)
    }
    #expect(refusal { _ = try BookmarkElement.read(try stanza("<other xmlns='x'/>"), id: "a@b") } != nil)
  }

  /// XEP-0469; XEP-0492 3 with its example of settings by identity; and unknown extensions.
  @Test func theExtensionsOfABookmarkAreKeptWhole() throws {
    let text =
      "<conference xmlns='urn:xmpp:bookmarks:1'><extensions><pinned xmlns='urn:xmpp:bookmarks-pinning:0'/>"
      + "<notify xmlns='urn:xmpp:notification-settings:1'><never identity-category='client' identity-type='pc'><advanced>"
      + "<my-custom-extension xmlns='custom:ns-1'><when day-of-week='monday'>night-time-only</when></my-custom-extension>"
      + "</advanced></never><on-mention identity-category='client' identity-type='phone'/>"
      + "<on-mention identity-category='gateway'/><always/><sometimes/><other xmlns='urn:other'/></notify>"
      + "<state xmlns='urn:state' minimized='true'/><notify xmlns='urn:xmpp:notification-settings:0'><never/></notify>"
      + "</extensions></conference>"
    var bookmark = try BookmarkElement.read(try stanza(text), id: "a@b")
    #expect(bookmark.isPinned)
    #expect(bookmark.notifications.alerts(for: .phone) == .onMention)
    #expect(bookmark.notifications.rules.map(\.alerts) == [.never, .onMention, .onMention, .always])
    let written = try element { BookmarkElement.write(bookmark, into: &$0) }
    #expect(try BookmarkElement.read(written, id: "a@b") == bookmark)
    let notify = try #require(written.first(Name("extensions", NS.bookmarks))?.first(NotificationSettings.notify))
    // Settings of unknown kinds stand behind those of known kinds.
    #expect(
      try notify == #require(stanza(text).first(Name("extensions", NS.bookmarks))?.first(NotificationSettings.notify)))

    bookmark.isPinned = false
    bookmark.notifications = NotificationRules([.init(.never)])
    bookmark.extensions = []
    let least =
      "<conference xmlns='urn:xmpp:bookmarks:1'><extensions><notify xmlns='urn:xmpp:notification-settings:1'><never/></notify>"
      + "</extensions></conference>"
    #expect(try element { BookmarkElement.write(bookmark, into: &$0) } == stanza(least))
  }

  /// XEP-0402 5.3.1: the old form of the same bookmarks, and back.
  @Test func aListHoldsWhatItemsHold() throws {
    let text =
      "<storage xmlns='storage:bookmarks'><conference jid='a@b' name='A' autojoin='true'><nick>JC</nick>"
      + "<minimize xmlns='bookmarks:gajim'>1</minimize></conference><conference jid='c@d'/><url name='W' url='http://w/'/>"
      + "<conference jid='not an address@'/></storage>"
    let draft = try BookmarkElement.list(try stanza(text))
    #expect(draft.bookmarks.map(\.address.description) == ["a@b", "c@d"])
    #expect(draft.bookmarks.map(\.autojoins) == [true, false])
    let again = try element { BookmarkElement.write(draft.bookmarks, others: draft.others ?? [], into: &$0) }
    #expect(try again == stanza(text))
    #expect(refusal { _ = try BookmarkElement.list(try stanza("<storage xmlns='urn:other'/>")) } != nil)

    let modern = try element { BookmarkElement.write(draft.bookmarks[0], into: &$0) }
    #expect(modern.first(Name("nick", NS.bookmarks))?.text == "JC")
    #expect(modern.first(Name("minimize", "bookmarks:gajim"))?.text == "1")
  }

  // MARK: Capabilities

  private func claim(_ version: String, hash: String = "sha-1") throws -> CapabilitiesClaim {
    try #require(
      CapabilitiesClaim(
        try stanza(
          "<presence><c xmlns='http://jabber.org/protocol/caps' hash='\(hash)' node='urn:c' ver='\(version)'/></presence>"
        )))
  }

  private func answer(_ features: [String]) throws -> Element {
    try element { writer in
      Disco.write(
        Capabilities(identities: [.init(category: "client", type: "pc")], features: features), node: nil, into: &writer)
    }
  }

  @Test func aProvenAnswerIsKnownOfAll() throws {
    let capabilities = ClientCapabilities()
    let features = ["urn:a+notify", "urn:b", "urn:c+notify", "+notify"]
    let version = Capabilities(identities: [.init(category: "client", type: "pc")], features: features).verification
    let claim = try claim(version)
    #expect(claim.queried == "urn:c#\(version)")
    #expect(capabilities.interests(of: claim) == nil)
    // An answer that does not fit the hash, or could have been made to fit it, counts for one client only.
    #expect(capabilities.learn(try answer(["urn:x+notify"]), for: claim) == ["urn:x"])
    #expect(capabilities.interests(of: claim) == nil)
    #expect(capabilities.learn(try answer(features), for: claim) == ["urn:a", "urn:c"])
    #expect(capabilities.interests(of: claim) == ["urn:a", "urn:c"])
    #expect(capabilities.interests(of: try self.claim(version, hash: "sha-256")) == nil)
    #expect(
      capabilities.learn(
        try stanza("<query xmlns='http://jabber.org/protocol/disco#info'><feature/></query>"), for: claim) == [])
  }

  /// XEP-0115 5.4: an answer whose form has a field twice is verified like others; one with two types is not kept.
  @Test func anAnswerWithRepeatedFieldsIsKnownOfAll() throws {
    func answer(_ types: [String]) throws -> Element {
      try stanza(
        "<query xmlns='http://jabber.org/protocol/disco#info'><feature var='urn:a+notify'/>"
          + "<x xmlns='jabber:x:data' type='form'>"
          + types.map { "<field var='FORM_TYPE' type='hidden'><value>\($0)</value></field>" }.joined()
          + "<field var='os'><value>Mac</value></field><field var='os'><value>Linux</value></field></x></query>")
    }
    for (types, isKept) in [(["urn:x"], true), (["urn:x", "urn:y"], false)] {
      let capabilities = ClientCapabilities()
      let query = try answer(types)
      let claim = try claim(try Capabilities(query).verification)
      #expect(capabilities.learn(query, for: claim) == ["urn:a"])
      #expect(capabilities.interests(of: claim) == (isKept ? ["urn:a"] : nil))
    }
  }

  @Test func aForgedAnswerIsNotKept() throws {
    let capabilities = ClientCapabilities()
    // "a<b<" is what the features "a" and "b" hash as.
    let forged = Capabilities(identities: [.init(category: "client", type: "pc")], features: ["a<b+notify"])
    let claim = try claim(forged.verification)
    #expect(capabilities.learn(try answer(["a<b+notify"]), for: claim) == ["a<b"])
    #expect(capabilities.interests(of: claim) == nil)
  }

  @Test func presenceWithoutAHashClaimsNothing() throws {
    #expect(CapabilitiesClaim(try stanza("<presence/>")) == nil)
    #expect(
      CapabilitiesClaim(
        try stanza("<presence><c xmlns='http://jabber.org/protocol/caps' node='n' ver='1.0'/></presence>"))
        == nil)
  }
}

private struct PlainError: Error {}
