import Addresses
import Dialogs
import DialogsFixtures
import NIOCore
import Testing
import XMLStream
import XMPP

@testable import XMPPDoor

/// What others send to a client that has not acknowledged what it was sent (XEP-0198), and that nothing stores.
@Suite struct FullSessionTests {
  /// The session of a client, confined to its loop, and somebody who writes to it.
  private struct Scene {
    let network: ServerNetwork
    let place: MountedLoop
    let romeo: Party
    let juliet: Party

    init() async throws {
      network = try ServerNetwork()
      place = try await network.place()
      romeo = try await network.stage.user("romeo")
      juliet = try await network.stage.user("juliet")
    }

    /// Runs `body` with a session to which as much was sent as others may.
    func withFullSession<Value: Sendable>(
      _ body: @escaping @Sendable (XMPPSession) throws -> Value
    ) async throws -> Value {
      let (door, loopContext, juliet) = (network.door, place.loopContext, juliet)
      let jid = try #require(FullJID(parsing: "juliet@localhost/balcony"))
      let headline = stanza(.message(.headline), bytes: 250_000)
      return try await place.loop.submit {
        let session = XMPPSession(door: door, loopContext: loopContext.value, party: juliet, jid: jid)
        session.follow(from: .zero)
        _ = session.enable(resume: true, max: nil)
        for _ in 1...5 { session.receive(headline) }
        #expect(session.management.outbound.count == 4)
        #expect(session.isFull && session.lags)
        let value = try body(session)
        #expect(!session.isEnded)
        session.end()
        return value
      }.get()
    }

    func stanza(_ name: RelayedStanza.Name, id: String? = nil, bytes: Int = 10) -> Delivery {
      let stanza = RelayedStanza(
        name: name, from: romeo, fromResource: "orchard", to: juliet.address, toResource: "balcony", id: id,
        extras: Array("<x xmlns='urn:x'>\(String(repeating: "y", count: bytes))</x>".utf8))
      return .signal(.stanza(stanza), .direct)
    }

    func presence(_ resource: String, _ availability: Presence.Availability, bytes: Int) -> Delivery {
      let status = "<status>\(String(repeating: "y", count: bytes))</status>"
      return .signal(
        .presence(
          Presence(
            from: romeo, resource: resource, availability: availability, extras: Array(status.utf8), time: someTime)),
        .direct)
    }
  }

  /// The texts of what waits to be acknowledged.
  private static func texts(_ session: XMPPSession) -> [String] {
    session.management.outbound.items.map { item in
      if case .bytes(let buffer) = item.item { String(buffer: buffer) } else { "" }
    }
  }

  /// What others send is lost, and the client gets what it asks for all the same.
  @Test func whatOthersSendEndsNoSession() async throws {
    let scene = try await Scene()
    let headline = scene.stanza(.message(.headline), bytes: 250_000)
    try await scene.withFullSession { session in
      for _ in 1...XMPPLimits.unacknowledgedItemsMax { session.receive(headline) }
      #expect(session.management.outbound.count == 4)
      session.send { $0.raw(ByteBuffer(repeating: 0x20, count: 1_000_000)) }
      #expect(session.management.outbound.count == 5)
      #expect(session.manage(.acknowledge(5)) == nil)
      #expect(!session.isFull && !session.lags)
      session.receive(headline)
      #expect(session.management.outbound.count == 1)
    }
    try await scene.network.end()
  }

  /// Of each sender the last presence waits until the client has acknowledged enough, a long one without its text; so do the
  /// signals of a session that is resumed.
  @Test func theLastPresenceOfEachWaits() async throws {
    let scene = try await Scene()
    let presences = [
      scene.presence("orchard", .away, bytes: 10), scene.presence("garden", .away, bytes: 10),
      scene.presence("orchard", .doNotDisturb, bytes: DoorLimits.heldBytesMax),
      scene.presence("garden", .offline, bytes: 10),
    ]
    try await scene.withFullSession { session in
      for presence in presences { session.receive(presence) }
      #expect(session.management.outbound.count == 4)
      #expect(session.held.count == 2)
      let state = try #require(session.state)
      #expect(state.held.count == 2)
      // One headline of a quarter of a megabyte makes room.
      #expect(session.manage(.acknowledge(1)) == nil)
      #expect(session.held.count == 0)
      let told = Self.texts(session).suffix(2)
      #expect(told.first?.contains("/orchard'") == true && told.first?.contains("<show>dnd</show>") == true)
      #expect(told.first?.contains("<status>") == false)
      #expect(told.last?.contains("/garden'") == true && told.last?.contains("type='unavailable'") == true)
      #expect(told.last?.contains("<status>") == true)
    }
    try await scene.network.end()
  }

  /// A room elsewhere of which the client misses something is heard again when the client has entered it again.
  @Test func aRoomElsewhereIsHeardAgain() throws {
    var rooms = RoomsElsewhere()
    let room = try bare("verona@rooms.example")
    let verdicts = [(true, true), (false, false), (true, true)].map { (enters, isTooMuch) -> RoomsElsewhere.Verdict in
      if enters { rooms.sent(isAvailable: true, to: room, nick: "juliet") }
      return rooms.waits(from: room, isGroupchat: true, isTooMuch: isTooMuch)
    }
    let ended = RoomsElsewhere.Verdict.ended("verona@rooms.example/juliet")
    #expect(verdicts == [ended, .dropped, ended])
  }

  /// What others answer to the client's requests has room of its own, and a large answer becomes an error. Nobody can use up what the
  /// client asks the server for by answers that nobody has asked for.
  @Test func answersOfOthersCome() async throws {
    let scene = try await Scene()
    let small = scene.stanza(.iq("result"), id: "q1")
    let large = scene.stanza(.iq("result"), id: "q2", bytes: 250_000)
    let nameless = scene.stanza(.iq("result"), id: String(repeating: "q", count: Limits.stanzaIDBytesMax + 1))
    try await scene.withFullSession { session in
      for answer in [small, large, nameless] { session.receive(answer) }
      let told = Self.texts(session).suffix(2)
      #expect(session.management.outbound.count == 6)
      #expect(told.first?.contains("'q1'") == true && told.first?.contains("urn:x") == true)
      #expect(told.last?.contains("'q2'") == true && told.last?.contains("<resource-constraint") == true)
      #expect(told.last?.contains("urn:x") == false)
      for _ in 1...XMPPLimits.unacknowledgedItemsMax { session.receive(small) }
      #expect(session.management.outbound.count == DoorLimits.unacknowledgedStanzasWithAnswers)
      session.send { $0.raw(ByteBuffer(repeating: 0x20, count: 250_000)) }
      #expect(session.management.outbound.count == DoorLimits.unacknowledgedStanzasWithAnswers + 1)
    }
    try await scene.network.end()
  }

  /// What others send meanwhile, less than ends the hearing of others, does not hold up the log.
  @Test func aSessionThatLagsGoesOnBesideStanzasOfOthers() async throws {
    let scene = try await Scene()
    try await scene.withFullSession { session in
      #expect(session.owesHalf)
      #expect(session.manage(.acknowledge(2)) == nil)
      // Half a megabyte is not acknowledged, and paced answers wait for it.
      #expect(!session.owesHalf && session.isBehind)
    }
    try await scene.network.end()
  }

  /// A request is answered with an error, so that nobody waits for the client; other stanzas have no answer.
  @Test func requestsAreRefused() async throws {
    let scene = try await Scene()
    let asker = try await scene.network.stage.session(scene.romeo, "orchard")
    let request = scene.stanza(.iq("get"), id: "q1")
    let message = scene.stanza(.message(.headline), id: "m1")
    try await scene.withFullSession { session in
      for stanza in [message, request] { session.receive(stanza) }
      #expect(session.management.outbound.count == 4)
    }
    let answers = asker.deliveries().compactMap { delivery -> RelayedStanza? in
      if case .signal(.stanza(let stanza), _) = delivery { stanza } else { nil }
    }
    #expect(answers.map(\.id) == ["q1"])
    #expect(answers.map(\.name) == [.iq("error")])
    #expect(answers.map(\.fromResource) == ["balcony"])
    #expect(answers.allSatisfy { String(decoding: $0.extras, as: UTF8.self).contains("<resource-constraint") })
    try await scene.network.end()
  }
}
