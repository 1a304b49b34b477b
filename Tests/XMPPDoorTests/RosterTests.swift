import Accounts
import Addresses
import Basics
import Dialogs
import DialogsFixtures
import NIOCore
import Testing
import XMLStream
import XMPP

@testable import XMPPDoor

@Suite("Roster and block list")
struct RosterTests {
  private func change(_ items: String) throws -> Roster.Change {
    try Roster.change(try stanza("<query xmlns='jabber:iq:roster'>\(items)</query>"), of: bare("juliet@example.com"))
  }

  private func refusal(_ items: String) -> StanzaError.Condition? {
    do {
      _ = try change(items)
      return nil
    } catch let error as StanzaError { return error.condition } catch { return nil }
  }

  @Test("RFC 6121 2.3.1") func set() throws {
    #expect(
      try change("<item jid='nurse@example.com' name='Nurse'><group>Servants</group></item>")
        == .set(bare("nurse@example.com"), name: "Nurse", groups: ["Servants"]))
    // 2.1.5 rule 2, 2.1.2.1, 2.1.2.2: what only subscriptions change is ignored.
    #expect(
      try change("<item jid='Nurse@EXAMPLE.com' name='' subscription='both' ask='subscribe' approved='true'/>")
        == .set(bare("nurse@example.com"), name: nil, groups: []))
  }

  @Test("RFC 6121 2.5.1") func remove() throws {
    #expect(try change("<item jid='nurse@example.com' subscription='remove'/>") == .remove(bare("nurse@example.com")))
  }

  @Test("RFC 6121 2.3.3") func refusals() throws {
    let long = String(repeating: "x", count: Limits.groupBytesMax + 1)
    let name = String(repeating: "x", count: Limits.displayNameBytesMax + 1)
    #expect(refusal("") == .badRequest)
    #expect(refusal("<item jid='a@example.com'/><item jid='b@example.com'/>") == .badRequest)
    #expect(refusal("<item/>") == .badRequest)
    #expect(refusal("<item jid='@'/>") == .jidMalformed)
    #expect(refusal("<item jid='juliet@example.com'/>") == .notAllowed)
    #expect(refusal("<item jid='a@example.com' name='\(name)'/>") == .notAcceptable)
    #expect(refusal("<item jid='a@example.com'><group/></item>") == .notAcceptable)
    #expect(refusal("<item jid='a@example.com'><group>\(long)</group></item>") == .notAcceptable)
    #expect(refusal("<item jid='a@example.com'><group>x</group><group>x</group></item>") == .badRequest)
    let many = (0...Limits.groupsPerContactMax).map { "<group>\($0)</group>" }.joined()
    #expect(refusal("<item jid='a@example.com'>\(many)</item>") == .notAcceptable)
  }

  private func contact(
    _ address: String, _ subscription: Subscription, name: String? = nil, groups: [String] = []
  ) throws -> Contact {
    Contact(
      owner: UserID(1), address: try bare(address), peer: nil, name: name, groups: groups, subscription: subscription,
      version: Position(7))
  }

  @Test("RFC 6121 2.2, A.1") func wholeRoster() throws {
    let contacts = try [
      contact("romeo@example.net", .both, name: "Romeo", groups: ["Friends"]),
      contact("mercutio@example.com", .from, name: "Mercutio & Co"),
      contact("tybalt@example.com", .nonePendingIn),
      contact("nurse@example.com", .nonePendingOut),
    ]
    let user = User(
      id: UserID(1), realm: RealmID(1), address: try bare("juliet@example.com"), state: .active, createdAt: someTime,
      profile: Profile(), lastSeenAt: nil, delivered: .zero)
    let contactSnapshot = ContactSnapshot(
      user: user, contacts: Dictionary(uniqueKeysWithValues: contacts.map { ($0.address, $0) }), blocks: [],
      rosterVersion: Position(7), messagesFrom: .everybody)
    #expect(
      String(buffer: Roster.encoded(contactSnapshot, version: "ver11")) == """
        <query xmlns='jabber:iq:roster' ver='ver11'>\
        <item jid='mercutio@example.com' name='Mercutio &amp; Co' subscription='from'/>\
        <item jid='nurse@example.com' subscription='none' ask='subscribe'/>\
        <item jid='romeo@example.net' name='Romeo' subscription='both'><group>Friends</group></item></query>
        """)
  }

  @Test("RFC 6121 2.1.6, 2.5.2") func push() throws {
    let nurse = try contact("nurse@example.com", .none.listed, name: "Nurse", groups: ["Servants"])
    let to = "juliet@example.com/balcony"
    #expect(
      written {
        Roster.writePush(
          ContactChange(contact: nurse, push: true), version: "ver13", id: "a78b4q6ha463", to: to, into: &$0)
      } == """
        <iq type='set' id='a78b4q6ha463' to='juliet@example.com/balcony'><query xmlns='jabber:iq:roster' ver='ver13'>\
        <item jid='nurse@example.com' name='Nurse' subscription='none'><group>Servants</group></item></query></iq>
        """)
    #expect(
      written {
        Roster.writePush(
          ContactChange(contact: nurse, removed: true, push: true), version: "ver14", id: "p", to: to, into: &$0)
      } == """
        <iq type='set' id='p' to='juliet@example.com/balcony'><query xmlns='jabber:iq:roster' ver='ver14'>\
        <item jid='nurse@example.com' subscription='remove'/></query></iq>
        """)
  }

  /// What a client gives a contact is never left out; the names of profiles are, where they make the roster too long.
  @Test func aLongRosterLeavesTheNamesOfProfilesOut() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let realm = stage.parley.realms[0].id
    let users = [romeo.address, juliet.address]
    for intent: ContactGroupIntent in [
      .put(realm, name: "sales", displayName: nil, hasEveryone: nil),
      .change(realm, name: "sales", adding: users, removing: []),
    ] { try await stage.parley.post(.contactGroup(intent), by: Parley.nobody) }
    _ = try await stage.session(romeo, "desk")
    func roster(namedMax: Int) throws -> String {
      let snapshot = try #require(stage.parley.hub.contactSnapshot(of: romeo.id))
      return String(buffer: Roster.encoded(snapshot, version: "v", namedMax: namedMax))
    }
    func expected(_ name: String) -> String {
      "<query xmlns='jabber:iq:roster' ver='v'><item jid='juliet@localhost'\(name) subscription='both'>"
        + "<group>sales</group></item></query>"
    }
    let named = expected(" name='juliet'")
    #expect(try roster(namedMax: named.utf8.count) == named)
    #expect(try roster(namedMax: named.utf8.count - 1) == expected(""))
    try await stage.parley.post(.contact(address: juliet.address, name: "Sun", groups: []), by: romeo)
    #expect(try roster(namedMax: 0) == expected(" name='Sun'"))
  }

  /// A roster is charged by its items when it is written, and so are its changes; one that was written is sent again.
  @Test func whatIsWrittenOfARosterIsCharged() async throws {
    let network = try ServerNetwork()
    let stage = network.stage
    let user = try await stage.accounts.register(try bare("juliet@localhost"), password: "x", displayName: nil)
    let juliet = Party(id: user.id, realm: user.realm, address: user.address)
    let addresses = try (0..<20 * DoorLimits.rosterItemsPerStanza).map { try bare("c\($0)@elsewhere.example") }
    try await stage.parley.work { writer in
      for (index, address) in addresses.enumerated() {
        try writer.put(
          Contact(
            owner: juliet.id, address: address, peer: nil, subscription: Subscription.none.listed,
            version: Position(Int64(index) + 2)))
      }
    }
    let options = DoorContext.Options(domains: ["localhost"], allowsPlaintext: true, version: "1")
    let door = DoorContext(accounts: stage.accounts, options: options, logger: network.door.logger)
    let listener = try await XMPPListener(door: door, group: network.group, tls: { _ in nil })
    let client = try await RawServer(
      network.group, port: try await listener.listen(host: "127.0.0.1", port: 0, directTLS: false))
    try await client.logIn("juliet", password: "x")
    try await client.ask("<iq type='set' id='b'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>", until: "</iq>")

    let budget = stage.parley.sending.budget(of: juliet, from: nil, now: stage.clock.now)
    /// Returns how many stanzas the user has left, who has all of them again afterwards.
    func left() -> Int {
      let now = stage.clock.now
      var count = 0
      while budget.charge(stanzas: 1, bytes: 0, now: now) == nil { count += 1 }
      stage.clock.set(now.milliseconds + 60_000)
      return count
    }
    _ = left()
    let all = left()
    func charged(_ attribute: String = "", until end: String = "</query></iq>") async throws -> Int {
      try await client.ask("<iq type='get' id='r'><query xmlns='jabber:iq:roster'\(attribute)/></iq>", until: end)
      return all - left()
    }
    #expect(try await charged() == 21)
    #expect(try await charged() == 1)
    try await stage.parley.post(.contact(address: bare("nurse@elsewhere.example"), name: nil, groups: []), by: juliet)
    #expect(try await charged() == 21)
    let version = stage.parley.cursor(Position(1), in: juliet.realm)
    let last = try #require(addresses.last)
    // 401 pushes of some 248 bytes are more than 64 KiB.
    #expect(try await charged(" ver='\(version)'", until: "jid='\(last)'") == 22)
    try await client.close()
    await listener.stopAccepting()
    try await network.end()
  }

  /// What was approved for an address that nobody had is void for whoever gets the address, on every server.
  @Test func anExportHasNoVoidApproval() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    for address in [juliet.address, try bare("cordelia@localhost")] {
      try await stage.parley.post(.subscription(.subscribed, to: address, stanza: nil), by: romeo)
    }
    _ = try await stage.user("cordelia")
    let document = try await stage.parley.read { reader -> String in
      let user = try #require(try reader.user(romeo.id))
      return String(decoding: AccountExport.document(try PortableExport.SettingsOf(user, reader)), as: UTF8.self)
    }
    #expect(document.contains("<item jid='juliet@localhost' subscription='none' approved='true'/>"))
    #expect(document.contains("<item jid='cordelia@localhost' subscription='none'/>"))
  }

  // MARK: XEP-0191

  @Test("XEP-0191 3.2") func blockList() throws {
    let patterns = try Blocking.patterns(
      try stanza(
        "<block xmlns='urn:xmpp:blocking'><item jid='romeo@montague.net'/><item jid='Shakespeare.lit/x'/></block>"))
    #expect(patterns.map(\.jid.description) == ["romeo@montague.net", "shakespeare.lit/x"])
    #expect(
      written { Blocking.write(Name("blocklist", NS.blocking), patterns, into: &$0) } == """
        <blocklist xmlns='urn:xmpp:blocking'><item jid='romeo@montague.net'/><item jid='shakespeare.lit/x'/></blocklist>
        """)
    #expect(
      written { Blocking.write(Name("blocklist", NS.blocking), [], into: &$0) }
        == "<blocklist xmlns='urn:xmpp:blocking'/>")
  }

  @Test func malformedBlocksAreRefused() throws {
    #expect(throws: StanzaError.self) {
      try Blocking.patterns(try stanza("<block xmlns='urn:xmpp:blocking'><item/></block>"))
    }
    let error = #expect(throws: StanzaError.self) {
      try Blocking.patterns(try stanza("<block xmlns='urn:xmpp:blocking'><item jid='@'/></block>"))
    }
    #expect(error?.condition == .jidMalformed)
  }

  @Test("XEP-0191 3.3 to 3.5") func blockPushes() throws {
    let romeo = BlockPattern(try JID("romeo@montague.net"))
    func push(_ act: BlockChange.Act, isAll: Bool) -> String {
      written {
        Blocking.writePush(
          BlockChange(act: act, patterns: [romeo]), isAll: isAll, id: "push1", to: "juliet@capulet.com/chamber",
          into: &$0)
      }
    }
    let head = "<iq type='set' id='push1' to='juliet@capulet.com/chamber'>"
    #expect(
      push(.block, isAll: false)
        == "\(head)<block xmlns='urn:xmpp:blocking'><item jid='romeo@montague.net'/></block></iq>")
    #expect(
      push(.unblock, isAll: false)
        == "\(head)<unblock xmlns='urn:xmpp:blocking'><item jid='romeo@montague.net'/></unblock></iq>")
    #expect(push(.unblock, isAll: true) == "\(head)<unblock xmlns='urn:xmpp:blocking'/></iq>")
  }
}
