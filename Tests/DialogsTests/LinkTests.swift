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
