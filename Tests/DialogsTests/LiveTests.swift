import Addresses
import Basics
import DialogsFixtures
import Dispatch
import Testing

@testable import Accounts
@testable import Dialogs

/// Tests of live delivery: routing, presence, blocks, markers, unread counts.
@Suite struct LiveTests {
  @Test func aMessageToTheBareAddressReachesEveryResourceThatWantsIt() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let phone = try await stage.session(juliet, "phone", priority: 0)
    let laptop = try await stage.session(juliet, "laptop", priority: 5)
    let toaster = try await stage.session(juliet, "toaster", priority: -1)
    let silent = try await stage.session(juliet, "silent", priority: nil)
    let app = try await stage.session(juliet, "app-1", door: .app)
    stage.parley.hub.update(silent) { $0.carbons = true }
    for session in [phone, laptop, toaster, app] { _ = session.taken() }
    _ = try await stage.say("hi", from: romeo, to: juliet)
    #expect(phone.taken() == [.said("hi", .direct)])
    #expect(laptop.taken() == [.said("hi", .direct)])
    #expect(toaster.taken() == [])
    // Carbons go to any resource that enabled them (XEP-0280 6).
    #expect(silent.taken() == [.said("hi", .carbonReceived)])
    #expect(app.taken() == [.said("hi", .feed)])
  }

  @Test func aMessageToAFullAddressIsACopyElsewhere() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let phone = try await stage.session(juliet, "phone")
    let laptop = try await stage.session(juliet, "laptop")
    stage.parley.hub.update(laptop) { $0.carbons = true }
    _ = phone.taken()
    _ = try await stage.say("hi", from: romeo, to: juliet, resource: "phone")
    #expect(phone.taken() == [.said("hi", .direct)])
    #expect(laptop.taken() == [.said("hi", .carbonReceived)])
    // Nobody there under that name: as if to the bare address (RFC 6121 8.5.3.2.1).
    _ = try await stage.say("ho", from: romeo, to: juliet, resource: "gone")
    #expect(phone.taken() == [.said("ho", .direct)])
    #expect(laptop.taken() == [.said("ho", .direct)])
  }

  @Test func presenceFollowsTheSubscription() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let phone = try await stage.session(juliet, "phone")
    let laptop = try await stage.session(romeo, "laptop")
    #expect(laptop.taken() == [])

    try await stage.parley.post(.subscription(.subscribe, to: juliet.address, stanza: nil), by: romeo)
    #expect(
      laptop.taken() == [.contact("juliet@localhost", .nonePendingOut, act: nil, push: true)])
    #expect(phone.taken() == [.contact("romeo@localhost", .nonePendingIn, act: .subscribe, push: false)])

    try await stage.parley.post(.subscription(.subscribed, to: romeo.address, stanza: nil), by: juliet)
    #expect(phone.taken() == [.contact("romeo@localhost", .from, act: nil, push: true)])
    #expect(
      laptop.taken() == [
        .contact("juliet@localhost", .to, act: .subscribed, push: true), .presence("juliet/phone", .online),
      ])

    stage.parley.hub.unregister(phone, time: stage.clock.now)
    #expect(laptop.taken() == [.presence("juliet/phone", .offline)])
  }

  // MARK: Clients that are gone for a moment

  private func friends(_ stage: Stage) async throws -> (romeo: Party, juliet: Party) {
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    try await stage.parley.post(.link(juliet.address, name: nil, groups: [], mutual: true), by: romeo)
    return (romeo, juliet)
  }

  /// Juliet is there by an app, and Romeo's laptop sees it.
  private func seen() async throws -> (
    stage: Stage, hub: Hub, romeo: Party, juliet: Party, laptop: RecordingSession, phone: RecordingSession
  ) {
    let stage = try Stage()
    let (romeo, juliet) = try await friends(stage)
    let laptop = try await stage.session(romeo, "laptop")
    let phone = try await stage.session(juliet, "app-1", door: .app)
    return (stage, stage.parley.hub, romeo, juliet, laptop, phone)
  }

  @Test func aUserWhoIsBackInAMomentWasNeverAway() async throws {
    let (stage, hub, romeo, juliet, laptop, phone) = try await seen()
    #expect(laptop.taken() == [.presence("juliet/app-1", .online)])
    #expect(hub.linger(phone, time: stage.clock.now))
    #expect(laptop.taken() == [] && hub.isOnline(juliet.id) && hub.onlineSessions(of: juliet.id).isEmpty)
    // Nothing is said to it.
    _ = try await stage.say("hi", from: romeo, to: juliet)
    #expect(phone.taken() == [])
    // A session that comes online meanwhile sees her.
    let tablet = RecordingSession(romeo)
    try await stage.parley.post(.goOnline(OnlineSession(session: tablet, door: .xmpp, resource: "tablet")), by: romeo)
    let here = Presence(from: romeo, resource: "tablet", availability: .online, time: stage.clock.now)
    hub.setPresence(here, of: tablet)
    #expect(tablet.taken().contains(.presence("juliet/app-1", .online)))
    hub.unregister(tablet, time: stage.clock.now)
    _ = laptop.taken()

    let again = RecordingSession(juliet)
    try await stage.parley.post(.goOnline(OnlineSession(session: again, door: .app, resource: "app-1")), by: juliet)
    let back = try #require(hub.onlineSessions(of: juliet.id).first)
    #expect(back.isReturning && back.presence?.availability == .online)
    let shown = Presence(from: juliet, resource: "app-1", availability: .online, time: stage.clock.now)
    hub.setPresence(shown, of: again)
    #expect(laptop.taken() == [] && hub.onlineSessions(of: juliet.id).first?.isReturning == false)
    // It has all to learn.
    #expect(again.taken().contains(.presence("romeo/laptop", .online)))
    // The moment of the other is over.
    hub.unregister(phone, time: stage.clock.now)
    #expect(laptop.taken() == [] && hub.isOnline(juliet.id))
  }

  @Test func aUserWhoComesBackChangedIsToldOnce() async throws {
    let (stage, hub, _, juliet, laptop, phone) = try await seen()
    #expect(hub.linger(phone, time: stage.clock.now))
    _ = laptop.taken()
    let again = RecordingSession(juliet)
    try await stage.parley.post(.goOnline(OnlineSession(session: again, door: .app, resource: "app-1")), by: juliet)
    let busy = Presence(from: juliet, resource: "app-1", availability: .doNotDisturb, time: stage.clock.now)
    hub.setPresence(busy, of: again)
    #expect(laptop.taken() == [.presence("juliet/app-1", .doNotDisturb)])
    // Another installation is another session: this one is not it.
    #expect(hub.linger(again, time: stage.clock.now))
    _ = try await stage.session(juliet, "app-2", door: .app)
    #expect(laptop.taken() == [.presence("juliet/app-2", .online)])
    hub.unregister(again, time: stage.clock.now)
    #expect(laptop.taken() == [.presence("juliet/app-1", .offline)])
  }

  @Test func aUserWhoStaysAwayLeftWhenTheSessionEnded() async throws {
    let (stage, hub, _, juliet, laptop, phone) = try await seen()
    _ = laptop.taken()
    let gone = stage.clock.now
    #expect(hub.linger(phone, time: gone))
    stage.clock.set(gone.milliseconds + 5_000)
    hub.unregister(phone, time: stage.clock.now)
    let told = laptop.deliveries()
    guard told.count == 1, case .signal(.presence(let presence), _) = told[0] else {
      Issue.record("\(told)")
      return
    }
    #expect(presence.availability == .offline && presence.time == gone && !hub.isOnline(juliet.id))
    #expect(hub.contactSnapshot(of: juliet.id) == nil && hub.user(at: juliet.address) == nil)
    // One that nobody saw goes at once.
    let silent = try await stage.session(juliet, "app-1", door: .app, priority: nil)
    #expect(!hub.linger(silent, time: stage.clock.now))
  }

  /// Blocks and ended logins do not wait.
  @Test func aLingeringUserCanBeBlockedAndDisabled() async throws {
    let (stage, hub, romeo, juliet, laptop, phone) = try await seen()
    #expect(hub.linger(phone, time: stage.clock.now))
    _ = (laptop.taken(), phone.taken())
    hub.close(juliet.id, .revoked)
    #expect(phone.taken() == [.closed(.revoked)])
    try await stage.parley.post(.block([BlockPattern(JID(romeo.address))]), by: juliet)
    #expect(laptop.taken() == [.presence("juliet/app-1", .offline)])
    hub.unregister(phone, time: stage.clock.now)
    #expect(laptop.taken() == [])
  }

  @Test func nobodyIsAttendedByWhoLingers() async throws {
    let stage = try Stage()
    let hub = stage.parley.hub
    let (_, juliet) = try await friends(stage)
    let phone = try await stage.session(juliet, "app-1", door: .app)
    hub.update(phone) { $0.activeDialog = DialogID(7) }
    #expect(hub.linger(phone, time: stage.clock.now))
    #expect(!Pushes.isAttended(hub.onlineSessions(of: juliet.id)))
    #expect(!Pushes.isOnScreen(DialogID(7), hub.onlineSessions(of: juliet.id)))
    // Back, it catches up, and has named no dialog.
    let again = RecordingSession(juliet)
    try await stage.parley.post(.goOnline(OnlineSession(session: again, door: .app, resource: "app-1")), by: juliet)
    #expect(Pushes.isAttended(hub.onlineSessions(of: juliet.id)))
    #expect(!Pushes.isOnScreen(DialogID(7), hub.onlineSessions(of: juliet.id)))
  }

  @Test func aProfileIsToldOfWithoutASession() async throws {
    let stage = try Stage()
    let (romeo, juliet) = try await friends(stage)
    let paris = try await stage.user("paris")
    let laptop = try await stage.session(juliet, "app-1", door: .app)
    let street = try await stage.session(paris, "app-1", door: .app)
    try await stage.parley.post(.profile(ProfileDraft(displayName: .some("Romeo M."))), by: romeo)
    #expect(laptop.taken() == [.profileOf("romeo")] && street.taken() == [])
    // A user who blocks him is not told.
    try await stage.parley.post(.block([BlockPattern(JID(romeo.address))]), by: juliet)
    _ = laptop.taken()
    try await stage.parley.post(.profile(ProfileDraft(displayName: .some("Romeo"))), by: romeo)
    #expect(laptop.taken() == [])
  }

  @Test func aBlockedAuthorSeesAnAbsentUserAndTheBlockerIsToldSo() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    try await stage.parley.post(.link(juliet.address, name: nil, groups: [], mutual: true), by: romeo)
    let phone = try await stage.session(juliet, "phone")
    let laptop = try await stage.session(romeo, "laptop")
    _ = phone.taken()
    try await stage.parley.post(.block([BlockPattern(JID(romeo.address))]), by: juliet)
    #expect(laptop.taken() == [.presence("juliet/phone", .offline)])
    _ = phone.taken()

    for (author, peer, kind) in [(romeo, juliet, Problem.Kind.unreachable), (juliet, romeo, .blocked)] {
      do {
        _ = try await stage.say("hi", from: author, to: peer)
        Issue.record("a block did not hold")
      } catch let problem as Problem {
        #expect(problem.kind == kind)
      }
    }
    #expect(phone.taken() == [])

    try await stage.parley.post(.unblock([]), by: juliet)
    #expect(laptop.taken() == [.presence("juliet/phone", .online)])
    _ = try await stage.say("hi", from: romeo, to: juliet)
  }

  @Test func unreadIsWhatARecountSays() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    var generator = Seeded(42)
    var said: [(position: Position, author: UserID)] = []
    var read: [UserID: Position] = [:]
    for _ in 0..<120 {
      let (author, peer) = Bool.random(using: &generator) ? (romeo, juliet) : (juliet, romeo)
      if Int.random(in: 0..<4, using: &generator) == 0, let target = said.randomElement(using: &generator) {
        let id = stage.parley.entryID(target.position, in: author.realm)
        try await stage.parley.post(
          .marker(MarkerDraft(with: peer.address, kind: .displayed, target: .entry(id))), by: author)
        // Forward only.
        read[author.id] = max(read[author.id] ?? .zero, target.position)
      } else {
        let receipt = try await stage.say("x", from: author, to: peer)
        said.append((receipt.position, author.id))
      }
      for user in [romeo.id, juliet.id] {
        let expected = said.count { $0.author != user && $0.position > read[user] ?? .zero }
        let counted = try await stage.parley.read { try $0.unread(of: user) }
        #expect(counted == Int64(expected))
      }
    }
    #expect(said.count > 60)
  }

  @Test func sequencesAreDensePerDialog() async throws {
    let stage = try Stage()
    let (romeo, juliet, tybalt) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("tybalt")
    )
    for number in 1...5 {
      for peer in [juliet, tybalt] {
        let receipt = try await stage.say("\(number)", from: romeo, to: peer)
        guard case .message(let message)? = receipt.entry?.fact else { throw StageError.full }
        #expect(message.sequence == Int64(number))
      }
    }
  }

  @Test func aDisabledUserIsUnreachableAndLosesTheirSessions() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let phone = try await stage.session(juliet, "phone")
    try await stage.accounts.setState(of: juliet.id, .disabled)
    #expect(phone.taken() == [.closed(.revoked)])
    do {
      _ = try await stage.say("hi", from: romeo, to: juliet)
      Issue.record("a disabled user was written to")
    } catch let problem as Problem {
      #expect(problem.kind == .unreachable)
    }
  }

  /// XEP-0191 3.3: a subscription has no effect across a block by either user.
  @Test(arguments: [true, false]) func blockerAndBlockedSeeNothingOfEachOther(isBlocker: Bool) async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let (phone, laptop) = (try await stage.session(juliet, "phone"), try await stage.session(romeo, "laptop"))
    try await stage.parley.post(.subscription(.subscribe, to: juliet.address, stanza: nil), by: romeo)
    let (blocker, blocked) = isBlocker ? (juliet, romeo) : (romeo, juliet)
    try await stage.parley.post(.block([BlockPattern(JID(blocked.address))]), by: blocker)
    for session in [phone, laptop] { _ = session.taken() }
    try await stage.parley.post(.subscription(.subscribed, to: romeo.address, stanza: nil), by: juliet)
    try await stage.parley.post(.profile(ProfileDraft(displayName: "Capulet")), by: juliet)
    let heard = laptop.taken()
    #expect(!heard.contains(.presence("juliet/phone", .online)) && !heard.contains(.profileOf("juliet")))
    #expect(phone.taken().contains(.profileOf("juliet")))
  }

  @Test func aResourceIsTakenOver() async throws {
    let stage = try Stage()
    let juliet = try await stage.user("juliet")
    let old = try await stage.session(juliet, "phone")
    let new = try await stage.session(juliet, "phone")
    #expect(old.taken() == [.closed(.replaced)])
    #expect(stage.parley.hub.onlineSessions(of: juliet.id).map(\.session.id) == [new.id])
  }

  /// The last session ends on one thread while another begins on the committer's: the online user is found by address.
  @Test func aSessionThatComesWhileTheLastOneGoesIsFound() async throws {
    let stage = try Stage()
    let juliet = try await stage.user("juliet")
    let user = try #require(try await stage.parley.read { try $0.user(juliet.id) })
    let (hub, time) = (stage.parley.hub, stage.clock.now)
    let contactSnapshot = ContactSnapshot(
      user: user, contacts: [:], blocks: [], rosterVersion: .zero, messagesFrom: .everybody)
    var last = RecordingSession(juliet)
    _ = hub.register(OnlineSession(session: last, door: .xmpp, resource: "0"), contactSnapshot: contactSnapshot)
    for round in 1...20_000 {
      let (going, coming) = (last, RecordingSession(juliet))
      DispatchQueue.concurrentPerform(iterations: 2) { thread in
        if thread == 0 {
          hub.unregister(going, time: time)
        } else {
          _ = hub.register(
            OnlineSession(session: coming, door: .xmpp, resource: "\(round)"), contactSnapshot: contactSnapshot)
        }
      }
      #expect(hub.onlineSessions(of: juliet.id).map(\.session.id) == [coming.id])
      #expect(hub.user(at: juliet.address) == juliet.id)
      last = coming
    }
  }
}

/// A small generator with a seed, so that a failure can be had again.
struct Seeded: RandomNumberGenerator {
  private var state: UInt64
  init(_ seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    var mixed = state
    mixed ^= mixed >> 33
    mixed = mixed &* 0xff51_afd7_ed55_8ccd
    return mixed ^ (mixed >> 33)
  }
}
