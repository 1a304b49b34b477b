import Addresses
import Basics
import DialogsFixtures
import Logging
import StoreConformance
import Testing

@testable import Dialogs

/// Users of another server, behind a link (`Hub.attach`).
@Suite struct LinkTests {
  private static let domain = "irc.localhost"

  private func stage() throws -> (stage: Stage, bob: Party) {
    let stage = try Stage(remotes: [Self.domain])
    let realm = try #require(stage.parley.remote(domain: Self.domain))
    #expect(realm.id.isRemote)
    #expect(stage.parley.remotes(of: stage.parley.realms[0].id).map(\.domain) == [Self.domain])
    return (stage, Party(remote: try BareJID("bob@\(Self.domain)"), realm: realm.id))
  }

  private func attach(_ stage: Stage, _ bob: Party) throws -> RecordingSession {
    let link = RecordingSession(Party(remote: try BareJID(Self.domain), realm: bob.realm))
    #expect(stage.parley.hub.attach(link, domain: Self.domain))
    return link
  }

  private func row(_ stage: Stage, _ party: Party) async throws -> User? {
    try await stage.parley.read { try $0.user(party.address) }
  }

  @Test func nothingIsSaidToAServerThatIsNotThere() async throws {
    let (stage, bob) = try stage()
    let romeo = try await stage.user("romeo")
    let problem = await #expect(throws: Problem.self) { try await stage.say("hi", from: romeo, to: bob) }
    #expect(problem?.code == "server-absent")
    #expect(try await row(stage, bob) == nil)
  }

  @Test func aMessageGoesToTheLinkOnceAndMakesAUser() async throws {
    let (stage, bob) = try stage()
    let link = try attach(stage, bob)
    let romeo = try await stage.user("romeo")
    let first = try await stage.say("hi", from: romeo, to: bob, resource: "irc")
    #expect(link.taken() == [.said("hi", .direct)])
    let made = try #require(try await row(stage, bob))
    #expect(made.name == "bob@\(Self.domain)")
    // Messages of the remote user belong to the same dialog, and count as unread for the local user alone.
    let session = try await stage.session(romeo, "orchard")
    let second = try await stage.say("hello", from: bob, to: romeo)
    #expect(session.taken() == [.said("hello", .direct)])
    #expect(link.taken() == [])
    #expect(first.entry?.dialog == second.entry?.dialog)
    let (unread, feed) = try await stage.parley.read { reader in
      (try reader.unread(of: romeo.id), try reader.feed(of: made.id, after: .zero, limit: 10).count)
    }
    #expect(unread == 1)
    #expect(feed == 0)
    let position = stage.parley.position(of: try #require(second.entry).id, in: romeo.realm)
    #expect(position == second.entry?.position)
  }

  /// A marker of an unknown message is passed on. It begins no dialog, and makes no user.
  @Test func aMarkerOfSomethingUnknownLeavesNothingBehind() async throws {
    let (stage, bob) = try stage()
    _ = try attach(stage, bob)
    let romeo = try await stage.user("romeo")
    let session = try await stage.session(romeo, "orchard")
    let stanza = (content: Content(kind: .none), envelope: Envelope(type: .chat), traits: Message.Traits.archived)
    let marker = MarkerDraft(with: romeo.address, kind: .displayed, target: .stanza("unknown"), stanza: stanza)
    try await stage.parley.post(.marker(marker), by: bob)
    #expect(session.taken() == [.relayed(.direct)])
    #expect(try await row(stage, bob) == nil)
  }

  @Test func aRefusedRemoteUserLeavesNothingBehind() async throws {
    let (stage, bob) = try stage()
    _ = try attach(stage, bob)
    let romeo = try await stage.user("romeo")
    let nobody = Party(id: UserID(99), realm: romeo.realm, address: try BareJID("nobody@localhost"))
    await #expect(throws: Problem.unreachable) { try await stage.say("hi", from: bob, to: nobody) }
    try await stage.parley.post(.block([BlockPattern(JID(bob.address))]), by: romeo)
    await #expect(throws: Problem.unreachable) { try await stage.say("hi", from: bob, to: romeo) }
    #expect(try await row(stage, bob) == nil)
  }

  @Test func remoteUsersDoNotTalkThroughUs() async throws {
    let (stage, bob) = try stage()
    _ = try attach(stage, bob)
    let alice = Party(remote: try BareJID("alice@\(Self.domain)"), realm: bob.realm)
    let problem = await #expect(throws: Problem.self) { try await stage.say("hi", from: bob, to: alice) }
    #expect(problem?.kind == .foreign)
  }

  @Test func subscriptionsArePassedOnAndPresenceFollowsThem() async throws {
    let (stage, bob) = try stage()
    let link = try attach(stage, bob)
    let romeo = try await stage.user("romeo")
    let session = try await stage.session(romeo, "orchard")
    try await stage.parley.post(.subscription(.subscribe, to: bob.address, stanza: nil), by: romeo)
    #expect(link.taken() == [.relayed(.direct)])
    try await stage.parley.post(.subscription(.subscribed, to: romeo.address, stanza: nil), by: bob)
    #expect(stage.parley.hub.contactSnapshot(of: romeo.id)?.remoteSubscriptions == [bob.address])
    // Theirs is a request like any other; approved, they see who is there.
    try await stage.parley.post(.subscription(.subscribe, to: romeo.address, stanza: nil), by: bob)
    try await stage.parley.post(.subscription(.subscribed, to: bob.address, stanza: nil), by: romeo)
    #expect(
      link.taken() == [.relayed(.direct), .presence("romeo/orchard to bob@\(Self.domain)", .online)])
    _ = session.taken()
    stage.parley.hub.unregister(session, time: stage.clock.now)
    #expect(link.taken() == [.presence("romeo/orchard to bob@\(Self.domain)", .offline)])
    // A user who comes online again probes the presence of remote contacts.
    let again = try await stage.session(romeo, "orchard")
    #expect(
      link.taken() == [.presence("romeo/orchard to bob@\(Self.domain)", .online), .relayed(.direct)])
    // The server goes: so do its users.
    stage.parley.hub.detach(link, domain: Self.domain, time: stage.clock.now)
    #expect(again.taken() == [.presence("bob@\(Self.domain)/", .offline)])
    stage.parley.hub.detach(link, domain: Self.domain, time: stage.clock.now)
    #expect(again.taken() == [])
  }

  /// Presence to many contacts elsewhere is charged as that to contacts here, and the link gets lists of their addresses.
  @Test func presenceToManyElsewhereIsChargedAndGoesInLists() async throws {
    // 250 deliveries a second and 1,000 at once.
    var policy = SendingPolicy()
    policy.stanzasPerSecond = 1
    let stage = try Stage(remotes: [Self.domain], sending: policy)
    let bob = Party(
      remote: try BareJID("bob@\(Self.domain)"), realm: try #require(stage.parley.remote(domain: Self.domain)).id)
    let (link, hub, now) = (try attach(stage, bob), stage.parley.hub, stage.clock.now)
    let romeo = try await stage.user("romeo")
    let user = try #require(try await row(stage, romeo))
    func register(_ resource: String, contacts count: Int) throws -> RecordingSession {
      var contacts: [BareJID: Contact] = [:]
      for number in 0..<count {
        let address = try BareJID("p\(number)@\(Self.domain)")
        contacts[address] = Contact(
          owner: user.id, address: address, peer: nil, subscription: .both, version: .zero)
      }
      let session = RecordingSession(romeo)
      let snapshot = ContactSnapshot(
        user: user, contacts: contacts, blocks: [], rosterVersion: .zero, messagesFrom: .everybody)
      _ = hub.register(OnlineSession(session: session, door: .xmpp, resource: resource), contactSnapshot: snapshot)
      return session
    }
    func presence(_ availability: Presence.Availability, _ resource: String) -> Presence {
      Presence(from: romeo, resource: resource, availability: availability, time: now)
    }
    // Fewer than are a fan-out: nothing is charged, nor is what follows for them.
    let few = try register("few", contacts: 63)
    #expect(hub.setPresence(presence(.online, "few"), of: few) == 0)
    #expect(link.deliveries().map(\.count) == [32, 31, 32, 31])
    // Directed presence is shown by stanzas of its own, and ends for all of them at once.
    for number in 0..<70 {
      hub.direct(presence(.online, "few"), of: few, to: try BareJID("d\(number)@\(Self.domain)"), resource: nil)
    }
    #expect(link.deliveries().map(\.count) == [Int](repeating: 1, count: 70))
    #expect(hub.setPresence(presence(.offline, "few"), of: few) == 70)
    #expect(link.deliveries().map(\.count) == [32, 31, 32, 32, 6])
    #expect(hub.unregister(few, time: now) == 0)
    // To all, and the question for the presence of each.
    let many = try register("many", contacts: 1_100)
    let lists = [Int](repeating: 32, count: 34) + [12]
    #expect(hub.setPresence(presence(.online, "many"), of: many) == 2_200)
    let heard = link.deliveries()
    #expect(heard.map(\.count) == lists + lists)
    let shown = heard.flatMap { delivery -> [BareJID] in
      if case .signal(.shown(_, let addresses), _) = delivery { return addresses }
      return []
    }
    #expect(shown.count == 1_100 && Set(shown).count == 1_100)
    #expect(hub.setPresence(presence(.away, "many"), of: many) == 1_100)
    #expect(link.deliveries().map(\.count) == lists)
    // The end of the session is charged to whom it was.
    let budget = stage.parley.sending.budget(of: romeo, from: nil, now: now)
    #expect(!budget.owesDeliveries(now: now))
    stage.parley.unregister(many, at: now)
    #expect(link.deliveries().map(\.count) == lists)
    #expect(budget.owesDeliveries(now: now))
  }

  @Test func oneLinkToADomain() throws {
    let (stage, bob) = try stage()
    let link = try attach(stage, bob)
    let other = RecordingSession(link.party)
    #expect(!stage.parley.hub.attach(other, domain: Self.domain))
    stage.parley.hub.detach(other, domain: Self.domain, time: stage.clock.now)
    #expect(stage.parley.hub.link(domain: Self.domain) === link)
  }

  @Test func aDomainStaysWhatItWas() throws {
    let (stage, _) = try stage()
    func start(_ domains: [String], _ remotes: [(domain: String, home: String)]) throws {
      var options = Parley.Options(domains: domains)
      options.remotes = remotes
      _ = try Parley(
        store: stage.store, clock: stage.clock, options: options,
        logger: Logger(label: "stage") { _ in SwiftLogNoOpLogHandler() })
    }
    try start(["localhost"], [(Self.domain, "localhost")])
    try start(["localhost"], [])
    #expect(throws: Problem.self) { try start(["localhost", Self.domain], []) }
    #expect(throws: Problem.self) { try start(["other.example", "localhost"], [(Self.domain, "other.example")]) }
    #expect(throws: Problem.self) { try start(["localhost"], [("other.example", "localhost")]) }
  }
}
