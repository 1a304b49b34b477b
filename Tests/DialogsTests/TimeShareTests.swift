import Addresses
import Basics
import DialogsFixtures
import Synchronization
import Testing

@testable import Dialogs

/// An account and a network have a share of the time of each batch.
@Suite struct TimeShareTests {
  /// Two clocks with one time, which posts let pass, and a server whose posts take that long.
  private final class Scene: Sendable {
    let stage: Stage
    private let time: Times
    /// The names of the posts in the order of their outcomes.
    private let names = Mutex<[String]>([])

    private final class Times: Sendable {
      let passed = Mutex(Duration.zero)
      var now: Duration { passed.withLock { $0 } }
    }

    init() throws {
      let time = Times()
      self.time = time
      stage = try Stage(judging: JudgingClocks(wall: { time.now }, thread: { time.now }))
    }

    var order: [String] { names.withLock { $0 } }

    /// Submits a post that takes as long as so many stanzas.
    func submit(
      _ name: String, by party: Party, takes stanzas: Int, as inbound: Post.Inbound? = nil, from peer: String? = nil,
      _ body: @escaping @Sendable (any StoreWriter) throws -> Void = { _ in }
    ) {
      let time = self.time
      let work = WriteTransaction(keepsCaches: true) { writer in
        time.passed.withLock { $0 += Limits.stanzaTime * stanzas }
        try body(writer)
        return true
      }
      let post = Post(
        author: party, intent: .work(work), inbound: inbound,
        completion: .callback { [self] _ in names.withLock { $0.append(name) } }, from: peer)
      #expect(stage.parley.submit(post))
    }

    /// Submits a post that takes no time before its commit.
    func submit(_ name: String, by party: Party, _ intent: Intent) {
      let post = Post(
        author: party, intent: intent,
        completion: .callback { [self] result in
          let isDone = if case .success = result { true } else { false }
          names.withLock { $0.append(isDone ? name : "\(name) failed") }
        })
      #expect(stage.parley.submit(post))
    }
  }

  @Test func whoHasUsedUpTheTimeOfABatchWaitsForTheNext() async throws {
    let scene = try Scene()
    let (romeo, juliet) = (try await scene.stage.user("romeo"), try await scene.stage.user("juliet"))
    let before = scene.stage.store.commits
    try await scene.stage.together(romeo) {
      for number in 1...3 { scene.submit("romeo \(number)", by: romeo, takes: Limits.batchShare) }
      for number in 1...2 { scene.submit("juliet \(number)", by: juliet, takes: 1) }
    }
    #expect(scene.order == ["romeo 1", "juliet 1", "juliet 2", "romeo 2", "romeo 3"])
    // Those that hold up the committer and wait for the outcome as well.
    #expect(scene.stage.store.commits - before == 3 + 2)
  }

  /// Posts that take a little longer than ordinary ones are summed up; ordinary ones are not.
  @Test func whatTakesLittleIsSummedUp() async throws {
    let scene = try Scene()
    let (romeo, juliet) = (try await scene.stage.user("romeo"), try await scene.stage.user("juliet"))
    try await scene.stage.together(romeo) {
      for _ in 0..<50 { scene.submit("romeo", by: romeo, takes: 3) }
      scene.submit("juliet", by: juliet, takes: 3)
    }
    #expect(scene.order.firstIndex(of: "juliet") == Limits.batchShare / 3 + 1)
    #expect(scene.order.count == 51)
    try await scene.stage.together(romeo) {
      for _ in 0..<50 { scene.submit("romeo", by: romeo, takes: 1) }
      scene.submit("juliet", by: juliet, takes: 1)
    }
    #expect(scene.order.last == "juliet" && scene.order.count == 102)
  }

  /// The accounts of a network have the time of two, unless nobody else waits.
  @Test(arguments: [false, true]) func aNetworkHasAShareOfTheTime(isAlone: Bool) async throws {
    let scene = try Scene()
    let juliet = try await scene.stage.user("juliet")
    var users: [Party] = []
    for number in 1...4 { users.append(try await scene.stage.user("romeo\(number)")) }
    let (people, before) = (users, scene.stage.store.commits)
    // The last one waits for the outcome, in a request from the same network.
    let request = scene.stage.parley.readOwner(people[3], from: "192.0.2.1")
    try await ReadOwner.$current.withValue(request) {
      try await scene.stage.together(people[3]) {
        for (number, user) in people.enumerated() {
          scene.submit("\(number)", by: user, takes: Limits.batchShare - (number < 3 ? 1 : 0), from: "192.0.2.1")
        }
        scene.submit("juliet", by: juliet, takes: 0, from: isAlone ? "192.0.2.1" : "192.0.2.2")
      }
    }
    #expect(scene.order == (isAlone ? ["0", "1", "2", "3", "juliet"] : ["0", "1", "2", "juliet", "3"]))
    #expect(scene.stage.store.commits - before == (isAlone ? 1 : 2) + 2)
  }

  /// A batch ends with its time, however many share it; those who had no turn are the first in the next one, before
  /// networks that have had theirs, whether or not these have used up their shares.
  @Test(arguments: [false, true]) func aBatchHasABoundOfTime(isByNetwork: Bool) async throws {
    let scene = try Scene()
    var users: [Party] = []
    for number in 1...6 { users.append(try await scene.stage.user("romeo\(number)")) }
    let (people, before) = (users, scene.stage.store.commits)
    let peers: [String?] = (0..<6).map { isByNetwork ? "192.0.2.\($0)" : nil }
    // The first one waits for the outcome, in a request from the same network.
    let request = scene.stage.parley.readOwner(people[0], from: peers[0])
    try await ReadOwner.$current.withValue(request) {
      try await scene.stage.together(people[0]) {
        for (number, user) in people.enumerated() {
          for post in 1...2 {
            scene.submit("\(number) \(post)", by: user, takes: Limits.batchShare, from: peers[number])
          }
        }
      }
    }
    #expect(scene.order == (1...2).flatMap { post in (0..<6).map { "\($0) \(post)" } })
    #expect(scene.stage.store.commits - before == 3 + 2)
  }

  /// Those who may be notified of a publication are known before they are, and contacts without consent are none of them.
  @Test func thoseWhoAreNotifiedCountForTheShare() async throws {
    let scene = try Scene()
    let (stage, now) = (scene.stage, scene.stage.clock.now)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let budget = stage.parley.sending.budget(of: romeo, from: nil, now: now)
    // Each of three publications takes more than a third of the share.
    let addresses = try (0...Limits.batchShare * Limits.looksPerStanza / 3).map {
      try BareJID("c\($0)@elsewhere.example")
    }
    func publication(_ number: Int) -> Intent {
      let item = NodePublication.Item(id: "\(number)", content: .opaque([]))
      return .node(.publish(NodePublication(node: "n", item: item, conditions: [])), at: nil)
    }
    for subscription in [Subscription.none.listed, .from] {
      try await stage.parley.work { writer in
        for address in addresses {
          try writer.put(
            Contact(owner: romeo.id, address: address, peer: nil, subscription: subscription, version: Position(1)))
        }
      }
      let session = try await stage.session(romeo, "orchard")
      try await stage.together(romeo) {
        for number in 1...5 { scene.submit("romeo \(number)", by: romeo, publication(number)) }
        scene.submit("juliet", by: juliet, publication(1))
      }
      let order = Array(scene.order.suffix(6))
      if subscription == .from {
        #expect(order == ["romeo 1", "romeo 2", "romeo 3", "juliet", "romeo 4", "romeo 5"])
        #expect(!budget.isFull(now: now))
      } else {
        #expect(order == ["romeo 1", "romeo 2", "romeo 3", "romeo 4", "romeo 5", "juliet"])
        #expect(budget.isFull(now: now))
      }
      stage.parley.hub.unregister(session, time: now)
    }
  }

  /// So are the rooms to which an app's session comes, as with a long poll, and those that it leaves.
  @Test func theRoomsOfSessionsCountForTheShare() async throws {
    let scene = try Scene()
    let (stage, now) = (scene.stage, scene.stage.clock.now)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let budget = stage.parley.sending.budget(of: romeo, from: nil, now: now)
    // A session's beginning takes 25 stanzas, which are charged, and its end half as many.
    let count = 25 * Limits.looksPerStanza / (2 * Limits.looksPerPlace) + 1
    try await stage.parley.work { writer in
      for number in 0..<count {
        let room = try writer.insertRoom(
          localpart: "room\(number)", in: romeo.realm, externalID: nil, settings: .group, createdAt: now)
        try writer.put(
          Member(
            room: room.id, party: romeo, affiliation: .member, nick: "romeo", since: .zero, joinedAt: now,
            version: .zero),
          ordinal: 0)
      }
    }
    #expect(budget.isFull(now: now))
    let polls = (0..<13).map { _ in RecordingSession(romeo) }
    try await stage.together(romeo) {
      for (number, poll) in polls.enumerated() {
        var onlineSession = OnlineSession(session: poll, door: .app, resource: "\(number)")
        onlineSession.isUnseen = true
        scene.submit("romeo", by: romeo, .goOnline(onlineSession))
      }
      scene.submit("juliet", by: juliet, .confirm(.zero))
    }
    #expect(scene.order.count == 14 && scene.order.firstIndex(of: "juliet") == 6)
    #expect(!budget.isFull(now: now))
    try await stage.together(romeo) {
      for poll in polls { scene.submit("romeo", by: romeo, .room(.vacate(poll.id))) }
      scene.submit("juliet", by: juliet, .confirm(.zero))
    }
    #expect(scene.order.count == 28 && scene.order.lastIndex(of: "juliet") == 14 + 11)
  }

  /// What the first half of a failed batch leaves behind is not overtaken by the second.
  @Test func aBatchThatFailsKeepsTheOrder() async throws {
    let scene = try Scene()
    let (romeo, juliet) = (try await scene.stage.user("romeo"), try await scene.stage.user("juliet"))
    let now = scene.stage.clock.now
    try await scene.stage.together(romeo) {
      scene.submit("romeo 1", by: romeo, takes: Limits.batchShare)
      scene.submit("juliet fails", by: juliet, takes: 0) { writer in
        try writer.setLastSeen(now, for: juliet.id)
        throw Problem(.conflict, "poison", "It does not work.")
      }
      scene.submit("romeo 2", by: romeo, takes: 0)
      scene.submit("juliet", by: juliet, takes: 0)
    }
    #expect(scene.order == ["romeo 1", "juliet fails", "juliet", "romeo 2"])
  }

  /// A stanza counts as handled with the commit of its post (XEP-0198).
  @Test func whatWaitsIsNotHandledYet() async throws {
    let scene = try Scene()
    let romeo = try await scene.stage.user("romeo")
    let stream = StreamNonce(high: 1, low: 2)
    let handled = Mutex<UInt32?>(nil)
    try await scene.stage.together(romeo) {
      scene.submit("1", by: romeo, takes: Limits.batchShare, as: Post.Inbound(stream: stream, number: 1))
      scene.submit("2", by: romeo, takes: 0, as: Post.Inbound(stream: stream, number: 2)) { writer in
        let found = try writer.handled(stream)
        handled.withLock { $0 = found }
      }
    }
    #expect(handled.withLock { $0 } == 1)
    #expect(try await scene.stage.parley.read { try $0.handled(stream) } == 2)
  }

  /// A stop commits what was put back, though nothing more is accepted.
  @Test func aStopCommitsWhatWasPutBack() async throws {
    let scene = try Scene()
    let romeo = try await scene.stage.user("romeo")
    for number in 1...4 { scene.submit("\(number)", by: romeo, takes: Limits.batchShare) }
    await scene.stage.parley.stop()
    #expect(scene.order == ["1", "2", "3", "4"])
  }
}
