import Addresses
import Basics
import DialogsFixtures
import Logging
import StoreConformance
import Testing

@testable import Dialogs

/// Actions of components in the names of users (`Privileges`).
@Suite struct PrivilegeTests {
  private static let domain = "irc.localhost"

  private struct Scene {
    let stage: Stage
    let component: Party
    let link: RecordingSession

    init() throws {
      stage = try Stage(remotes: [PrivilegeTests.domain])
      let realm = try #require(stage.parley.remote(domain: PrivilegeTests.domain))
      component = Party(remote: try BareJID(PrivilegeTests.domain), realm: realm.id)
      link = RecordingSession(component)
      #expect(stage.parley.hub.attach(link, domain: PrivilegeTests.domain))
    }

    func grant(_ privileges: Privileges) { stage.parley.grant([PrivilegeTests.domain: privileges]) }

    func act(_ intent: Intent, for user: BareJID, by right: Right) async throws(Problem) -> Receipt {
      let result: Result<Receipt, Problem> = await withCheckedContinuation { continuation in
        let post = Post(
          author: component, intent: intent, completion: .callback { continuation.resume(returning: $0) },
          behalf: Behalf(user, by: right))
        #expect(stage.parley.submit(post))
      }
      return try result.get()
    }

    func say(_ text: String, from user: BareJID, to peer: BareJID) async throws(Problem) -> Receipt {
      try await act(
        .message(
          MessageDraft(
            to: peer, content: Content(kind: .text, text: text), envelope: Envelope(type: .chat),
            traits: [.counts, .archived], key: nil)), for: user, by: .speak)
    }
  }

  @Test func theGrantedPrivileges() {
    let none = Privileges.none
    for right in [Right.roster(isSet: false), .roster(isSet: true), .speak, .request("a", isSet: false)] {
      #expect(!none.allows(right))
    }
    let some = Privileges(
      roster: .get, speaks: true, requests: ["a": .set, "b": .both, "c": .none], presence: .contacts)
    #expect(some.allows(.roster(isSet: false)) && !some.allows(.roster(isSet: true)) && some.allows(.speak))
    #expect(some.allows(.request("a", isSet: true)) && !some.allows(.request("a", isSet: false)))
    #expect(some.allows(.request("b", isSet: false)) && !some.allows(.request("c", isSet: false)))
    // XEP-0356 4.1: pushes go with reading; 7: so does the presence of contacts.
    #expect(some.isToldOfRosters && some.presence == .contacts)
    let blind = Privileges(roster: .set, isToldOfRosters: true, presence: .contacts)
    #expect(!blind.isToldOfRosters && blind.presence == .none)
    #expect(!Privileges(roster: .both, isToldOfRosters: false).isToldOfRosters)
  }

  /// What is left of a request comes before the component's next one, though the author is the user.
  @Test func aRequestThatIsDoneInPiecesKeepsItsPlace() async throws {
    let scene = try Scene()
    scene.grant(Privileges(requests: ["a": .set]))
    let romeo = try await scene.stage.user("romeo")
    let room = try await scene.stage.room(by: romeo)
    let drafts = try await scene.stage.crowd(40).map { MemberDraft(address: $0.address, affiliation: .member) }
    func submit(_ intent: Intent) -> UInt64 {
      let token = scene.link.nextToken()
      #expect(
        scene.stage.parley.submit(
          Post(
            author: scene.component, intent: intent, completion: .session(scene.link, token: token),
            behalf: Behalf(romeo.address, by: .request("a", isSet: true)))))
      return token
    }
    var tokens: [UInt64] = []
    try await scene.stage.together(romeo) {
      tokens = [submit(.room(.members(.dialog(room.dialog), drafts))), submit(.confirm(.zero))]
    }
    for token in tokens { await scene.link.waitForOutcome(of: token) }
    let added = try #require(scene.link.outcome(of: tokens[0])).get()
    let next = try #require(scene.link.outcome(of: tokens[1])).get()
    #expect(added.room?.memberCount == 41)
    #expect(next.position >= added.position)
  }

  @Test func aMessageIsTheUsers() async throws {
    let scene = try Scene()
    let romeo = try await scene.stage.user("romeo")
    let juliet = try await scene.stage.user("juliet")
    let phone = try await scene.stage.session(romeo, "phone", door: .app)
    let balcony = try await scene.stage.session(juliet, "balcony")
    await #expect(throws: Problem.unprivileged) { try await scene.say("no", from: romeo.address, to: juliet.address) }
    scene.grant(Privileges(speaks: true))
    let receipt = try await scene.say("but soft", from: romeo.address, to: juliet.address)
    #expect(receipt.entry?.author == romeo)
    #expect(balcony.taken() == [.said("but soft", .direct)])
    #expect(phone.taken() == [.said("but soft", .feed)])
    // A message to a user of the component is delivered to the component as one of the user.
    let bob = try BareJID("bob@\(Self.domain)")
    _ = try await scene.say("to you", from: romeo.address, to: bob)
    #expect(scene.link.taken() == [.said("to you", .direct)])
    // The component cannot do what the user cannot.
    try await scene.stage.parley.post(.block([BlockPattern(JID(romeo.address))]), by: juliet)
    await #expect(throws: Problem.unreachable) { try await scene.say("hark", from: romeo.address, to: juliet.address) }
    scene.grant(.none)
    await #expect(throws: Problem.unprivileged) { try await scene.say("no more", from: romeo.address, to: bob) }
  }

  @Test func nobodyElseIsSpokenFor() async throws {
    let scene = try Scene()
    let romeo = try await scene.stage.user("romeo")
    scene.grant(Privileges(speaks: true))
    for name in ["nobody@localhost", "bob@\(Self.domain)", "romeo@elsewhere.example", "localhost"] {
      let address = try BareJID(name)
      await #expect(throws: Problem.unprivileged) { try await scene.say("no", from: address, to: romeo.address) }
    }
    // A right is for what it is for; a local user has none.
    await #expect(throws: Problem.unprivileged) {
      try await scene.act(.removeContact(romeo.address), for: romeo.address, by: .speak)
    }
    let juliet = try await scene.stage.user("juliet")
    let own = Post(
      author: juliet, intent: .openDialog(romeo.address), completion: .none, behalf: Behalf(romeo.address, by: .speak))
    #expect(scene.stage.parley.submit(own))
    try await scene.stage.parley.post(.confirm(.zero), by: juliet)
    #expect(try await scene.stage.parley.read { try $0.dialogs(of: romeo.id, before: .end, limit: 10).isEmpty })
  }

  @Test func itSaysHowItsOwnUsersStand() async throws {
    let scene = try Scene()
    let romeo = try await scene.stage.user("romeo")
    let session = try await scene.stage.session(romeo, "orchard")
    let bob = try BareJID("bob@\(Self.domain)")
    scene.grant(Privileges(roster: .both))
    let set = Intent.contact(address: bob, name: "Bob", groups: ["IRC"], subscription: .both)
    _ = try await scene.act(set, for: romeo.address, by: .roster(isSet: true))
    #expect(session.taken() == [.contact(bob.description, .both, act: nil, push: true)])
    #expect(
      scene.link.taken() == [
        .contact(bob.description, .both, act: nil, push: true), .presence("romeo/orchard to \(bob)", .online),
      ])
    // The component sets no subscription of anybody else, and a user sets none at all.
    let juliet = try await scene.stage.user("juliet")
    let other = Intent.contact(address: juliet.address, name: nil, groups: [], subscription: .both)
    await #expect(throws: Problem.self) {
      try await scene.act(other, for: romeo.address, by: .roster(isSet: true))
    }
    await #expect(throws: Problem.self) { try await scene.stage.parley.post(set, by: romeo) }
    #expect(scene.stage.parley.hub.contactSnapshot(of: romeo.id)?.contacts.count == 1)
    // It sees no more than it may.
    scene.grant(Privileges(roster: .both, isToldOfRosters: false))
    let gone = Intent.contact(address: bob, name: "Bob", groups: [], subscription: Subscription.none)
    _ = try await scene.act(gone, for: romeo.address, by: .roster(isSet: true))
    #expect(scene.link.taken() == [.presence("romeo/orchard to \(bob)", .offline)])
  }

  @Test func presenceIsToldAsFarAsGranted() async throws {
    let scene = try Scene()
    let (stage, link) = (scene.stage, scene.link)
    let romeo = try await stage.user("romeo")
    let juliet = try await stage.user("juliet")
    func show(_ availability: Presence.Availability, _ session: RecordingSession) {
      stage.parley.hub.setPresence(
        Presence(from: session.party, resource: "orchard", availability: availability, time: stage.clock.now),
        of: session)
    }
    scene.grant(Privileges(presence: .users))
    let session = try await stage.session(romeo, "orchard")
    #expect(link.taken() == [.presence("romeo/orchard to \(Self.domain)", .online)])
    show(.away, session)
    #expect(link.taken() == [])
    show(.offline, session)
    #expect(link.taken() == [.presence("romeo/orchard to \(Self.domain)", .offline)])
    // The component is told of all that contacts announce, once, and of users who are nobody's contact no more than
    // before.
    scene.grant(Privileges(roster: .get, isToldOfRosters: false, presence: .contacts))
    show(.online, session)
    show(.away, session)
    #expect(link.taken() == [.presence("romeo/orchard to \(Self.domain)", .online)])
    try await stage.parley.post(.link(juliet.address, name: nil, groups: nil, mutual: true), by: romeo)
    show(.chat, session)
    #expect(link.taken() == [.presence("romeo/orchard to \(Self.domain)", .chat)])
    // A user who blocks the component is offline to it.
    try await stage.parley.post(.block([BlockPattern(JID(BareJID(Self.domain)))]), by: romeo)
    show(.doNotDisturb, session)
    #expect(link.taken() == [])
    stage.parley.hub.unregister(session, time: stage.clock.now)
    #expect(link.taken() == [])
  }

  @Test func aRequestOnBehalfOfAUserIsTheUsersToo() async throws {
    let scene = try Scene()
    let romeo = try await scene.stage.user("romeo")
    let juliet = try await scene.stage.user("juliet")
    let balcony = try await scene.stage.session(juliet, "balcony")
    scene.grant(Privileges(speaks: true))
    func pass(as user: BareJID) async throws(Problem) {
      let stanza = RelayedStanza(
        name: .message(.headline), from: scene.component, fromResource: nil, to: juliet.address, toResource: nil,
        id: nil,
        extras: [])
      _ = try await scene.act(
        .signal(.stanza(stanza), to: .user(juliet.address, resource: nil)), for: user, by: .speak)
    }
    try await pass(as: romeo.address)
    let said = balcony.deliveries()
    guard case .signal(.stanza(let stanza), _)? = said.first else { return #expect(Bool(false), "\(said)") }
    #expect(stanza.from == romeo)
    // The domain itself.
    try await pass(as: try BareJID("localhost"))
    guard case .signal(.stanza(let own), _)? = balcony.deliveries().first else { return #expect(Bool(false)) }
    #expect(own.from.address.description == "localhost")
    await #expect(throws: Problem.unprivileged) { try await pass(as: try! BareJID("nobody@localhost")) }
    try await scene.stage.parley.post(.block([BlockPattern(JID(juliet.address))]), by: romeo)
    await #expect(throws: Problem.self) { try await pass(as: romeo.address) }
  }
}
