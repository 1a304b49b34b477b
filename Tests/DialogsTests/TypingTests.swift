import Addresses
import Basics
import DialogsFixtures
import Testing

@testable import Dialogs

/// The state of typing (XEP-0085), and its end. The time is moved by hand.
@Suite struct TypingTests {
  private static let start: Int64 = 1_700_000_000_000

  private func at(_ seconds: Int64) -> Timestamp { Timestamp(milliseconds: Self.start + seconds * 1_000) }

  private func state(
    of author: Party, _ isTyping: Bool, isOfApp: Bool = true, resource: String? = nil, to address: BareJID
  ) -> RelayedStanza {
    RelayedStanza(
      name: .message(.chat), from: author, fromResource: resource, to: address, toResource: nil, id: nil,
      extras: isOfApp ? [] : [1], typing: isTyping)
  }

  /// Returns the states of typing that a session was told.
  private func told(_ session: RecordingSession) -> [Bool] {
    session.deliveries().compactMap { delivery in
      if case .signal(.stanza(let stanza), _) = delivery { stanza.typing } else { nil }
    }
  }

  @Test func whoIsToldOfWhat() throws {
    let typing = Typing()
    let juliet = try BareJID("juliet@localhost")
    let romeo = Party(id: UserID(1), realm: RealmID(1), address: try BareJID("romeo@localhost"))
    func note(_ isTyping: Bool, isOfApp: Bool = true, _ resource: String? = nil, at second: Int64) -> Typing.Audience {
      typing.note(
        state(of: romeo, isTyping, isOfApp: isOfApp, resource: resource, to: juliet), isTyping, at: .user(juliet),
        now: at(second))
    }
    // To stop without having begun is nothing; an XMPP client's own states are passed on.
    #expect(note(false, at: 0) == .no && note(false, isOfApp: false, "orchard", at: 0) == .everyone)
    #expect(typing.isEmpty && typing.due == nil)
    #expect(note(true, at: 0) == .everyone && typing.due == at(8))
    // A renewal (5.3), and another device.
    #expect(note(true, at: 5) == .apps)
    #expect(note(true, isOfApp: false, "orchard", at: 5) == .everyone)
    #expect(note(true, isOfApp: false, "orchard", at: 6) == .everyone)
    #expect(typing.takeOverdue(at(8)).isEmpty && typing.due == at(13))
    #expect(typing.takeOverdue(at(13)).map(\.isOfApp) == [true] && typing.due == at(36))
    #expect(typing.take(of: romeo.address, resource: "desk").isEmpty)
    #expect(typing.take(of: romeo.address, resource: "orchard").map(\.ended.typing) == [false])
    #expect(typing.isEmpty)
    // A message ends it: there is nothing to tell.
    #expect(note(true, at: 40) == .everyone)
    typing.end(by: romeo.address, at: .user(juliet))
    #expect(typing.takeOverdue(at(60)).isEmpty && typing.isEmpty && typing.due == nil)
  }

  @Test func aUserTypesInSoManyDialogs() throws {
    let typing = Typing()
    let romeo = Party(id: UserID(1), realm: RealmID(1), address: try BareJID("romeo@localhost"))
    func note(_ number: Int, isOfApp: Bool = true) throws -> Typing.Audience {
      let address = try BareJID("user\(number)@localhost")
      return typing.note(state(of: romeo, true, isOfApp: isOfApp, to: address), true, at: .user(address), now: at(0))
    }
    for number in 0..<Limits.typingPerUserMax { #expect(try note(number) == .everyone) }
    // Beyond it an app's is not told; an XMPP client's is told to clients, who end it themselves.
    #expect(try note(-1) == .no)
    #expect(try note(-1, isOfApp: false) == .clients)
    #expect(try note(0) == .apps)
  }

  /// A record has only what its end needs, however long the stanza was that began it.
  @Test func theStanzaThatBeganItIsNotKept() throws {
    let typing = Typing()
    let juliet = try BareJID("juliet@localhost")
    let romeo = Party(id: UserID(1), realm: RealmID(1), address: try BareJID("romeo@localhost"))
    func begin() -> () -> Bool {
      let stanza = RelayedStanza(
        name: .message(.chat), from: romeo, fromResource: "orchard", to: juliet, toResource: "balcony", id: "1",
        extras: [UInt8](repeating: 1, count: 100_000), typing: true)
      let audience = typing.note(stanza, true, at: .user(juliet), now: at(0))
      #expect(audience == .everyone)
      return { [weak stanza] in stanza != nil }
    }
    let isKept = begin()
    #expect(!isKept() && !typing.isEmpty)
    let ended = try #require(typing.take(of: romeo.address, resource: "orchard").first?.ended)
    #expect(ended.name == .message(.chat) && ended.from == romeo && ended.fromResource == "orchard")
    #expect(ended.to == juliet && ended.toResource == nil && ended.typing == false && ended.byteCount == 0)
  }

  /// Typing that an app does not end is ended for both doors, once.
  @Test func anAppsTypingRunsOut() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let orchard = try await stage.session(romeo, "orchard")
    let phone = try await stage.session(romeo, "app-phone", door: .app)
    let intent = Intent.signal(
      .stanza(state(of: juliet, true, resource: "app-tablet", to: romeo.address)),
      to: .user(romeo.address, resource: nil))
    try await stage.parley.post(intent, by: juliet)
    #expect(told(orchard) == [true] && told(phone) == [true])
    stage.clock.set(Self.start + 7_000)
    #expect(await stage.parley.endOverdueTyping() == .seconds(1))
    #expect(told(orchard) == [] && told(phone) == [])
    stage.clock.set(Self.start + 8_000)
    #expect(await stage.parley.endOverdueTyping() == nil)
    #expect(told(orchard) == [false] && told(phone) == [false])
    _ = await stage.parley.endOverdueTyping()
    #expect(told(orchard) == [] && told(phone) == [])
  }

  /// XEP-0085 5.8: of an XMPP client's states the server makes none.
  @Test func anXMPPClientsTypingRunsOutForApps() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let orchard = try await stage.session(romeo, "orchard")
    let phone = try await stage.session(romeo, "app-phone", door: .app)
    let balcony = try await stage.session(juliet, "balcony")
    func types() {
      stage.parley.hub.signal(
        .stanza(state(of: juliet, true, isOfApp: false, resource: "balcony", to: romeo.address)), from: balcony,
        party: juliet, to: .user(romeo.address, resource: nil))
    }
    types()
    #expect(told(orchard) == [true] && told(phone) == [true])
    stage.clock.set(Self.start + 30_000)
    _ = await stage.parley.endOverdueTyping()
    #expect(told(orchard) == [] && told(phone) == [false])
    // Gone without another word, to who is no contact.
    types()
    #expect(told(phone) == [true])
    stage.parley.hub.unregister(balcony, time: stage.clock.now)
    #expect(told(phone) == [false] && stage.parley.hub.typing.isEmpty)
  }
}
