import Addresses
import Dialogs
import Testing
import XMLStream
import XMPP

@testable import XMPPDoor

@Suite("XEP-0433: searching for rooms")
struct ChannelSearchTests {
  // MARK: Requests

  private func read(_ fields: String) throws -> ChannelSearch {
    let type = "<field type='hidden' var='FORM_TYPE'><value>urn:xmpp:channel-search:0:search-params</value></field>"
    return try ChannelSearch(DataForm(stanza("<x xmlns='jabber:x:data' type='submit'>\(type)\(fields)</x>")))
  }

  private func field(_ name: String, _ values: String...) -> String {
    "<field var='\(name)'>\(values.map { "<value>\($0)</value>" }.joined())</field>"
  }

  private func refusal(_ fields: String) -> StanzaError? {
    do {
      _ = try read(fields)
      return nil
    } catch { return error as? StanzaError }
  }

  private func condition(_ error: StanzaError?) -> String? {
    guard let error, error.application?.namespace == "urn:xmpp:channel-search:0:error" else { return nil }
    return "\(error.type) \(error.condition) \(error.application?.local ?? "")"
  }

  @Test func example3TheForm() throws {
    let form = ChannelSearch.form
    #expect(form.kind == .form && form.formType == "urn:xmpp:channel-search:0:search-params")
    #expect(
      form.fields.map(\.name) == [
        "FORM_TYPE", "q", "all", "sinname", "sindescription", "sinaddr", "min_users", "types", "key",
      ])
    #expect(
      form.fields.map(\.kind) == [
        .hidden, .textSingle, .boolean, .boolean, .boolean, .boolean, .textSingle, .listMulti, .listSingle,
      ])
    #expect(form["key"]?.options.map(\.value) == ChannelSearch.Order.allCases.map(\.rawValue))
    #expect(form["types"]?.options.map(\.value) == ["xep-0045"])
    // A field that is not filled in has the form's default.
    var filled = form
    filled.kind = .submit
    filled.fields[1].values = ["x"]
    #expect(try ChannelSearch(filled) == ChannelSearch(words: ["x"]))
    #expect(try read(field("q", "x")) == ChannelSearch(words: ["x"]))
  }

  @Test func example4ASearchByAddress() throws {
    let search = try read(
      """
      <field var="q" type="text-single" label="Search for"><value>xmpp.org</value></field>\
      <field var="key" type="list-single" label="Sort results by">\
      <value>{urn:xmpp:channel-search:0:order}address</value>\
      <option label='Number of online users'><value>{urn:xmpp:channel-search:0:order}nusers</value></option>\
      </field>
      """)
    #expect(search == ChannelSearch(words: ["xmpp.org"], order: .address))
  }

  @Test func fieldsOfASearch() throws {
    #expect(try read(field("all", "true")) == ChannelSearch())
    #expect(try read(field("all", "1") + field("q", "")) == ChannelSearch())
    #expect(try read(field("all", "0") + field("q", "x")) == ChannelSearch(words: ["x"]))
    #expect(try read(field("q", " \"Rose\" (garden)  #C++ ")).words == ["rose", "garden", "c++"])
    var search = ChannelSearch(words: ["x"])
    search.searchesName = false
    search.searchesAddress = false
    search.usersMin = 3
    search.wantsRooms = false
    let said = field("q", "x") + field("sinname", "0") + field("min_users", "3") + field("types", "xep-0369")
    #expect(try read(said + field("sinaddr", "false")) == search)
    #expect(try read(said + field("sinaddress", "false")) == search)
    #expect(try read(field("q", "x") + field("types", "xep-0369", "xep-0045")) == ChannelSearch(words: ["x"]))
    #expect(try read(field("q", "x") + field("{urn:example}colour", "red")) == ChannelSearch(words: ["x"]))
  }

  // MARK: Refusals (4.2.2)

  @Test func example6UnsupportedSortKey() {
    let error = refusal(field("q", "x") + field("key", "{urn:example}age"))
    #expect(condition(error) == "modify featureNotImplemented invalid-sort-key")
  }

  @Test func example7InvalidSearchTerms() {
    let long = String(repeating: "x", count: DoorLimits.searchBytesMax + 1)
    let many = Array(repeating: "x", count: DoorLimits.searchWordsMax + 1).joined(separator: " ")
    for text in ["  ", "...", "\" ! \"", long, many] {
      let error = refusal(field("q", text))
      #expect(condition(error) == "modify badRequest invalid-search-terms")
      #expect(error?.text != nil)
    }
    #expect(refusal(field("q", String(long.dropLast()))) == nil)
    #expect(refusal(field("q", String(many.dropLast(2)))) == nil)
  }

  @Test func example10ConflictingFields() {
    let error = refusal(field("q", "x") + field("all", "true"))
    #expect(condition(error) == "modify badRequest conflicting-fields")
    #expect(error?.application?.children.map(\.text) == ["all", "q"])
    let nowhere = refusal(field("q", "x") + ["sinname", "sindescription", "sinaddr"].map { field($0, "0") }.joined())
    #expect(condition(nowhere) == "modify badRequest conflicting-fields")
    #expect(nowhere?.application?.children.map(\.text) == ["q", "sinname", "sindescription", "sinaddr"])
  }

  @Test func example11NoSearchConditions() {
    for fields in ["", field("all", "0"), field("q", ""), field("min_users", "3")] {
      #expect(condition(refusal(fields)) == "cancel badRequest no-search-conditions")
    }
  }

  @Test func formsThatAreNone() throws {
    #expect(refusal(field("q", "x") + field("min_users", "some"))?.condition == .notAcceptable)
    #expect(refusal(field("q", "x") + field("sinname", "maybe"))?.condition == .notAcceptable)
    #expect(refusal(field("q", "x") + field("q", "y"))?.condition == .badRequest)
    #expect(refusal(field("q", "x", "y"))?.condition == .notAcceptable)
    for form in [
      DataForm(.submit, formType: "urn:example", fields: [DataForm.Field("q", nil, "x")]),
      DataForm(.cancel, fields: [DataForm.Field("q", nil, "x")]),
    ] {
      #expect(throws: StanzaError.self) { try ChannelSearch(form) }
    }
  }

  // MARK: Results

  private func room(
    _ local: String, _ name: String? = nil, _ about: String? = nil, topic: String? = nil,
    _ change: (inout RoomSettings) -> Void = { _ in }
  ) throws -> Room {
    var settings = RoomSettings.open
    settings.name = name
    settings.about = about
    change(&settings)
    let address = try bare("\(local)@muc.xmpp.org")
    let number = DialogID(local.utf8.reduce(0) { $0 &* 257 &+ Int64($1) })
    return Room(
      name: RoomName(dialog: number, realm: RealmID(1), address: address),
      externalID: nil, createdAt: someTime, settings: settings,
      topic: topic.map { Topic(text: $0, nick: nil, time: someTime) })
  }

  private func wants(_ search: ChannelSearch, _ room: Room, users: Int = 0) -> Bool {
    search.wants(ChannelSearch.Hit(room: room, users: users))
  }

  @Test func eachWordIsSomewhere() throws {
    let room = try self.room("commteam", "Communication Team", "All about Words")
    func finds(_ words: String..., change: (inout ChannelSearch) -> Void = { _ in }) -> Bool {
      var search = ChannelSearch(words: words)
      change(&search)
      return wants(search, room)
    }
    #expect(finds("communication") && finds("words") && finds("commteam") && finds("xmpp.org"))
    #expect(finds("team", "about"))
    #expect(!finds("team", "rose"))
    #expect(!finds("words") { $0.searchesDescription = false })
    #expect(!finds("communication") { $0.searchesName = false })
    #expect(finds("team") { $0.searchesName = false })
    #expect(!finds("commteam") { $0.searchesAddress = false })
  }

  @Test func roomsThatASearchDoesNotWant() throws {
    let all = ChannelSearch()
    #expect(try wants(all, room("a")))
    #expect(try wants(all, room("a") { $0.isMembersOnly = true }))
    #expect(try !wants(all, room("a") { $0.isListed = false }))
    var gone = try room("a")
    gone.isDestroyed = true
    #expect(!wants(all, gone))
    var busy = all
    busy.usersMin = 2
    #expect(try wants(busy, room("a"), users: 2))
    #expect(try !wants(busy, room("a"), users: 1))
    var channels = all
    channels.wantsRooms = false
    #expect(try !wants(channels, room("a"), users: 9))
    // The topic stands for the description, where everybody may come and read it.
    let search = ChannelSearch(words: ["feuds"])
    #expect(try wants(search, room("a", topic: "Feuds")))
    #expect(try !wants(search, room("a", nil, "Masks", topic: "Feuds")))
    #expect(try !wants(search, room("a", topic: "Feuds") { $0.password = "x" }))
    #expect(try !wants(search, room("a", topic: "Feuds") { $0.isMembersOnly = true }))
  }

  private func page(
    _ rooms: [(String, Int)], _ search: ChannelSearch, _ set: ResultSetRequest
  ) throws -> (names: [String], set: ResultSetPage) {
    let rooms = try rooms.map { (room: try room($0.0), users: $0.1) }
    let counts = Dictionary(uniqueKeysWithValues: rooms.map { ($0.room.id, $0.users) })
    let page = try search.page(set, counts: counts) { after in
      Array(rooms.map(\.room).filter { ($0.address.local ?? "") > after ?? "" }.prefix(DoorLimits.channelsReadMax))
    }
    return (page.hits.map { $0.room.address.local ?? "" }, page.set)
  }

  @Test(arguments: ChannelSearch.Order.allCases) func pagesGoOnBothWays(order: ChannelSearch.Order) throws {
    let rooms = [("a", 1), ("b", 3), ("c", 0), ("d", 3), ("e", 1)]
    let search = ChannelSearch(order: order)
    let sorted = order == .users ? ["b", "d", "a", "e", "c"] : ["a", "b", "c", "d", "e"]
    var (found, set): ([String], ResultSetRequest) = ([], ResultSetRequest(max: 2))
    for _ in 0..<3 {
      let page = try self.page(rooms, search, set)
      found += page.names
      set.after = page.set.last
    }
    #expect(found == sorted)
    let end = try self.page(rooms, search, set)
    #expect(end.names == [] && end.set.first == nil && end.set.last == nil)
    (found, set) = ([], ResultSetRequest(max: 2, isBackward: true))
    for _ in 0..<3 {
      let page = try self.page(rooms, search, set)
      found = page.names + found
      set.before = page.set.first
    }
    #expect(found == sorted)
    let count = try self.page(rooms, search, ResultSetRequest(max: 0))
    #expect(count.names == [] && count.set.count == 5)
    #expect(try self.page(rooms, search, ResultSetRequest()).names == sorted)
  }

  /// Everything else looks at many rooms, and has a pace.
  @Test func aListByAddressIsNoSearch() {
    let list = ChannelSearch(order: .address)
    #expect(list.isListing(ResultSetRequest()) && list.isListing(ResultSetRequest(max: 10, after: "a")))
    #expect(!list.isListing(ResultSetRequest(max: 0)) && !list.isListing(ResultSetRequest(max: 2, isBackward: true)))
    #expect(!ChannelSearch().isListing(ResultSetRequest()))
    #expect(!ChannelSearch(words: ["a"], order: .address).isListing(ResultSetRequest()))
    var busy = list
    busy.usersMin = 1
    #expect(!busy.isListing(ResultSetRequest()))
  }

  @Test func theCountIsSaidWhereItIsKnown() throws {
    let rooms = [("a", 1), ("b", 3), ("c", 0)]
    #expect(
      try self.page(rooms, ChannelSearch(), ResultSetRequest(max: 1)).set
        == ResultSetPage(first: "3/b", last: "3/b", count: 3))
    let search = ChannelSearch(order: .address)
    #expect(
      try self.page(rooms, search, ResultSetRequest(max: 1, after: "a")).set == ResultSetPage(first: "b", last: "b"))
  }

  @Test func aPlaceThatIsNoneIsNotFound() throws {
    for text in ["b", "x/b", "/b"] {
      #expect(throws: StanzaError(.itemNotFound, "the results have no such place")) {
        try self.page([("a", 1)], ChannelSearch(), ResultSetRequest(after: text))
      }
    }
  }

  @Test func aPageAndASearchHaveTheirBounds() throws {
    let many = (0..<DoorLimits.channelsSearchedMax + DoorLimits.channelsReadMax).map { number in
      (String(repeating: "0", count: 6 - "\(number)".count) + "\(number)", 0)
    }
    let page = try self.page(many, ChannelSearch(order: .address), ResultSetRequest(max: 5_000))
    #expect(page.names == many.prefix(DoorLimits.channelPageMax).map(\.0))
    let all = try self.page(many, ChannelSearch(), ResultSetRequest(max: 1, isBackward: true))
    #expect(all.names == [many[DoorLimits.channelsSearchedMax - 1].0])
    #expect(all.set.count == nil)
  }

  // MARK: Answers

  @Test func example5Results() throws {
    let rooms = try [
      room("commteam", "commteam"),
      room("operators", "XMPP Service Operators", "Discussion venue") {
        $0.language = "en"
        $0.isMembersOnly = true
        $0.showsAddresses = true
      },
    ]
    let page = ChannelSearch.Page(
      hits: [ChannelSearch.Hit(room: rooms[0], users: 10), ChannelSearch.Hit(room: rooms[1], users: 43)],
      set: ResultSetPage(first: "commteam", last: "operators"))
    #expect(
      try element { ExtendedChannelSearch.write(page, into: &$0) }
        == example(
          """
          <result xmlns='urn:xmpp:channel-search:0:search'>
            <item address='commteam@muc.xmpp.org'>
              <name>commteam</name>
              <nusers>10</nusers>
              <service-type>xep-0045</service-type>
              <is-open>true</is-open>
              <anonymity-mode>muc_semianonymous</anonymity-mode>
            </item>
            <item address='operators@muc.xmpp.org'>
              <name>XMPP Service Operators</name>
              <description>Discussion venue</description>
              <language>en</language>
              <nusers>43</nusers>
              <service-type>xep-0045</service-type>
              <is-open>false</is-open>
              <anonymity-mode>{urn:xmpp:channel-search:0:anonymity}none</anonymity-mode>
            </item>
            <set xmlns='http://jabber.org/protocol/rsm'>
              <first>commteam</first>
              <last>operators</last>
            </set>
          </result>
          """))
    let none = ChannelSearch.Page(hits: [], set: ResultSetPage(count: 0))
    #expect(try element { ExtendedChannelSearch.write(none, into: &$0) }.children.map(\.local) == ["set"])
  }

  @Test func example1OnlyTheDomainOfRoomsSaysSo() {
    let table = Features.table()
    for target in [.server, .account, .user, .room, .session] as [FeatureTable.Target] {
      #expect(!table.advertised(on: target).contains("urn:xmpp:channel-search:0:search"))
    }
    #expect(table.advertised(on: .rooms).contains("urn:xmpp:channel-search:0:search"))
  }
}
