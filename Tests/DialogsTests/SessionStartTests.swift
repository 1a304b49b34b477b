import Addresses
import Basics
import DialogsFixtures
import Synchronization
import Testing

@testable import Dialogs

/// What the sessions of one user cost others at their beginning and at their end.
@Suite struct SessionStartTests {
  @Test func sessionsAndPollsOfAUserHaveAPace() async throws {
    var policy = SendingPolicy()
    policy.unlimited.users = [try BareJID("bot@localhost")]
    let stage = try Stage(sending: policy)
    let (juliet, bot) = (try await stage.user("juliet"), try await stage.user("bot"))
    let now = stage.clock.now
    let budget = stage.parley.sending.budget(of: juliet, from: nil, now: now)
    for _ in 0..<20 { #expect(budget.startSession(now: now) == nil) }
    #expect(budget.startSession(now: now) == .seconds(1))
    #expect(!budget.isFull(now: now) && budget.startSession(now: now + .milliseconds(999)) == .seconds(1))
    #expect(budget.startSession(now: now + .seconds(1)) == nil)
    #expect(budget.startSession(now: now + .seconds(1)) == .seconds(1))
    for _ in 0..<100 { #expect(budget.startPoll(now: now) == nil) }
    #expect(budget.startPoll(now: now) == .milliseconds(200))
    #expect(budget.startPoll(now: now + .milliseconds(200)) == nil)
    #expect(budget.isFull(now: now + .seconds(21)))
    let unlimited = stage.parley.sending.budget(of: bot, from: nil, now: now)
    for _ in 0..<200 { #expect(unlimited.startSession(now: now) == nil && unlimited.startPoll(now: now) == nil) }
  }

  /// The numbers of rooms with somebody in them, as posts have found them.
  private final class Counts: Sendable {
    private let found = Mutex<[Int]>([])

    func submit(on stage: Stage) {
      let post = Post(
        author: Parley.nobody, intent: .room(.headcounts(of: nil)),
        completion: .callback { [self] result in
          let rooms = (try? result.get())?.value as? [DialogID: Int]
          found.withLock { $0.append(rooms?.count ?? -1) }
        })
      #expect(stage.parley.submit(post))
    }

    /// Returns what was found since the last call.
    func taken() -> [Int] {
      found.withLock { found in
        defer { found = [] }
        return found
      }
    }
  }

  @Test func aSessionComesToManyRoomsInSeveralPosts() async throws {
    let stage = try Stage()
    let juliet = try await stage.user("juliet")
    let owners = [try await stage.user("romeo"), try await stage.user("paris"), try await stage.user("nurse")]
    let count = Limits.roomsAtOnce + 20
    var rooms: [RoomName] = []
    for number in 0..<count {
      rooms.append(try await stage.room("room\(number)", by: owners[number % 3], with: [(juliet, .member)]))
    }
    let (session, counts) = (RecordingSession(juliet), Counts())
    let last = try #require(rooms.last)
    let speaker = owners[(count - 1) % 3]
    try await stage.together(juliet) {
      let onlineSession = OnlineSession(session: session, door: .app, resource: "phone")
      #expect(stage.parley.submit(Post(author: juliet, intent: .goOnline(onlineSession), completion: .none)))
      counts.submit(on: stage)
      let draft = stage.draft("now", app: true)
      let said = Intent.room(.say(.dialog(last.dialog), draft))
      #expect(stage.parley.submit(Post(author: speaker, intent: said, completion: .none)))
    }
    // Another post is between them, and the session hears all rooms from its beginning.
    #expect(counts.taken() == [Limits.roomsAtOnce])
    #expect(session.effects().contains { if case .said("now", _) = $0 { true } else { false } })
    for _ in 0..<3 { try await stage.settle(juliet) }
    counts.submit(on: stage)
    try await stage.settle(juliet)
    #expect(counts.taken() == [count])

    try await stage.together(juliet) {
      stage.parley.vacate(juliet, session: session.id)
      counts.submit(on: stage)
    }
    for _ in 0..<3 { try await stage.settle(juliet) }
    counts.submit(on: stage)
    try await stage.settle(juliet)
    #expect(counts.taken() == [20, 0])
  }

  /// Few people in each of many rooms are many together: their beginning and its end are charged by the sum.
  @Test func aSessionInManySmallRoomsIsCharged() async throws {
    var policy = SendingPolicy()
    policy.stanzasPerSecond = 1
    let stage = try Stage(sending: policy)
    let (owner, juliet) = (try await stage.user("owner"), try await stage.user("juliet"))
    let people = try await stage.crowd(40)
    let budget = stage.parley.sending.budget(of: juliet, from: nil, now: stage.clock.now)
    /// Connects and goes in the rooms so far; returns whether both are charged so many of 250 deliveries a second.
    func isCharged(_ count: Int64) async throws -> Bool {
      let session = try await stage.session(juliet, "phone", door: .app, priority: nil)
      var isRight = true
      for isEnd in [false, true] {
        if isEnd {
          stage.parley.hub.unregister(session, time: stage.clock.now)
          stage.parley.vacate(juliet, session: session.id)
          try await stage.settle(juliet)
        }
        let now = stage.clock.now
        if count > 0 { isRight = isRight && !budget.isFull(now: now + .milliseconds(4 * count - 1)) }
        stage.clock.set(now.milliseconds + 4 * count)
        isRight = budget.isFull(now: stage.clock.now) && isRight
      }
      return isRight
    }
    for (number, name) in ["hall", "garden", "street"].enumerated() {
      let room = try await stage.room(name, by: owner, .open, with: [(juliet, .member)])
      for party in people { try await stage.enter(room, RecordingSession(party)) }
      #expect(try await isCharged(number == 0 ? 0 : Int64(number + 1) * 40))
    }
  }

  /// A session that ends before it is shown everywhere is not shown any more.
  @Test func aSessionThatHasEndedComesNowhere() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    let session = RecordingSession(juliet)
    let onlineSession = OnlineSession(session: session, door: .app, resource: "phone")
    try await stage.act(.come(onlineSession, toRoomsBehind: DialogID(0)), by: juliet)
    #expect(try await stage.nicks(room, for: romeo).isEmpty)
    let other = try await stage.session(juliet, "phone", door: .app)
    #expect(try await stage.nicks(room, for: romeo) == ["juliet"])
    stage.parley.vacate(juliet, session: other.id)
    #expect(try await stage.nicks(room, for: romeo).isEmpty)
  }

  /// Rooms are read once, and again when they have changed.
  @Test func aSessionComesToTheRoomsAsTheyAre() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let first = try await stage.room("first", by: romeo, with: [(juliet, .member)])
    func come() async throws -> Set<String> {
      let session = try await stage.session(juliet, "phone", door: .app, priority: nil)
      for room in ["first", "second"] {
        guard let name = try await stage.parley.read({ try $0.room(at: BareJID("\(room)@conference.localhost")) })?.name
        else { continue }
        _ = try? await stage.say(room, in: name, by: romeo)
      }
      let heard = session.effects().compactMap { effect -> String? in
        if case .said(let text, _) = effect { text } else { nil }
      }
      stage.parley.hub.unregister(session, time: stage.clock.now)
      stage.parley.vacate(juliet, session: session.id)
      try await stage.settle(juliet)
      return Set(heard)
    }
    #expect(try await come() == ["first"])
    let second = try await stage.room("second", by: romeo, with: [(juliet, .member)])
    #expect(try await come() == ["first", "second"])
    try await stage.affiliate(juliet, .none, in: first, by: romeo)
    #expect(try await come() == ["second"])
    try await stage.act(.destroy(.dialog(second.dialog), reason: nil, alternate: nil), by: romeo)
    #expect(try await come() == [])
    // A batch that fails has changed nothing.
    try await stage.failing(
      .members(.dialog(first.dialog), [MemberDraft(address: juliet.address, affiliation: .member)]),
      by: RecordingSession(romeo))
    #expect(try await come() == [])
  }

  /// The contacts of a user are those of their other session, and what the same batch has changed in them.
  @Test func contactsAreReadOnceForTheSessionsOfAUser() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let hub = stage.parley.hub
    let first = try await stage.session(juliet, "balcony")
    let known = try #require(hub.contactSnapshot(of: juliet.id))
    func replaceFirst(by second: RecordingSession, linking: Bool) async throws {
      try await stage.together(juliet) {
        let link = Intent.link(romeo.address, name: nil, groups: [], mutual: true)
        if linking { #expect(stage.parley.submit(Post(author: juliet, intent: link, completion: .none))) }
        let onlineSession = OnlineSession(session: second, door: .xmpp, resource: "orchard")
        #expect(stage.parley.submit(Post(author: juliet, intent: .goOnline(onlineSession), completion: .none)))
        // The user's other session ends before the hub has the new one.
        let work = WriteTransaction(keepsCaches: true) { _ in
          for session in hub.onlineSessions(of: juliet.id) { hub.unregister(session.session, time: stage.clock.now) }
          return true
        }
        #expect(stage.parley.submit(Post(author: juliet, intent: .work(work), completion: .none)))
      }
    }
    let second = RecordingSession(juliet)
    try await replaceFirst(by: second, linking: false)
    #expect(hub.onlineSessions(of: juliet.id).map(\.session.id) == [second.id])
    #expect(hub.contactSnapshot(of: juliet.id) === known)
    let third = RecordingSession(juliet)
    try await replaceFirst(by: third, linking: true)
    #expect(hub.onlineSessions(of: juliet.id).map(\.session.id) == [third.id])
    #expect(hub.contactSnapshot(of: juliet.id)?.contacts.map(\.address) == [romeo.address])
    _ = first
  }
}
