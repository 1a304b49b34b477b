import Addresses
import Basics
import Dialogs
import DialogsFixtures
import Synchronization
import Testing

/// The contract of the log: entries are durable before they are delivered, in order, and never repeated.
@Suite struct CommitTests {
  @Test func aMessageIsToldOnlyAfterItsCommit() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let heardWhileWriting = Mutex(0)
    // The lane must not keep the stage: the hub keeps the lane, and neither would ever be released.
    let store = stage.store
    let lane = Lane { body in
      if store.isWriting { heardWhileWriting.withLock { $0 += 1 } }
      body()
    }
    final class Listener: LiveSession {
      let id = SessionID(7)
      let party: Party
      let lane: Lane
      let heard = Mutex(0)
      init(_ party: Party, _ lane: Lane) { (self.party, self.lane) = (party, lane) }
      func receive(_ delivery: Delivery) { heard.withLock { $0 += 1 } }
      func batchEnded() {}
    }
    let listener = Listener(juliet, lane)
    try await stage.parley.post(.goOnline(OnlineSession(session: listener, door: .app, resource: "app-1")), by: juliet)
    for number in 0..<50 { _ = try await stage.say("\(number)", from: romeo, to: juliet) }
    #expect(listener.heard.withLock { $0 } == 50)
    #expect(heardWhileWriting.withLock { $0 } == 0)
  }

  @Test func aFailedCommitIsRefusedAndLeavesNothing() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let phone = try await stage.session(juliet, "phone")
    _ = try await stage.say("one", from: romeo, to: juliet)
    #expect(phone.taken() == [.said("one", .direct)])

    stage.store.failNext(1)
    await #expect(throws: Problem.storage) { try await stage.say("two", from: romeo, to: juliet) }
    #expect(phone.taken() == [])

    // Sequence and position go on as if the failed one had never been.
    let receipt = try await stage.say("three", from: romeo, to: juliet)
    guard case .message(let message)? = receipt.entry?.fact else { throw StageError.full }
    #expect(message.sequence == 2)
    #expect(phone.taken() == [.said("three", .direct)])
  }

  @Test func oneBadPostDoesNotTakeItsNeighboursDown() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let phone = try await stage.session(juliet, "phone")
    let laptop = try await stage.session(romeo, "laptop")
    // Hold the committer, so that the rest becomes one batch.
    let gate = Gate()
    let held = Task { try await stage.parley.work { _ in gate.wait() } }
    await gate.entered()
    func submit(_ intent: Intent) {
      let post = Post(author: romeo, intent: intent, completion: .session(laptop, token: laptop.nextToken()))
      #expect(stage.parley.submit(post))
    }
    let draft = { (text: String) in
      Intent.message(
        MessageDraft(
          to: juliet.address, content: Content(kind: .text, text: text), envelope: Envelope(),
          traits: [.counts, .archived],
          key: nil))
    }
    submit(draft("before"))
    let now = stage.clock.now
    submit(
      .work(
        WriteTransaction { writer in
          try writer.setLastSeen(now, for: romeo.id)
          throw Problem(.conflict, "no", "It does not work.")
        }))
    submit(draft("after"))
    gate.open()
    try await held.value
    try await stage.parley.post(.confirm(.zero), by: romeo)
    #expect(laptop.taken() == [.done(1), .refused(2, .conflict), .done(3)])
    #expect(phone.taken() == [.said("before", .direct), .said("after", .direct)])
  }

  /// What waits is refused when the time for the stop is over, and what the stop itself writes is committed behind it.
  @Test func aStopDoesNotWaitForAllPosts() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let laptop = try await stage.session(romeo, "laptop")
    let stream = StreamNonce(high: 1, low: 2)
    let gate = Gate()
    let held = Task { try await stage.parley.work { _ in gate.wait() } }
    await gate.entered()
    func submit(_ text: String, _ number: UInt32) {
      let draft = MessageDraft(
        to: juliet.address, content: Content(kind: .text, text: text), envelope: Envelope(),
        traits: [.counts, .archived], key: nil)
      let post = Post(
        author: romeo, intent: .message(draft), inbound: Post.Inbound(stream: stream, number: number),
        completion: .session(laptop, token: laptop.nextToken()))
      #expect(stage.parley.submit(post))
    }
    submit("one", 1)
    submit("two", 2)
    stage.parley.refusePosts(from: .now)
    // A later end changes nothing.
    stage.parley.refusePosts(from: ContinuousClock.now + .seconds(3_600))
    async let stored: Bool = stage.parley.work { _ in true }
    gate.open()
    try await held.value
    #expect(try await stored)
    try await stage.parley.post(.confirm(.zero), by: romeo)
    #expect(laptop.taken() == [.refused(1, .overloaded), .refused(2, .overloaded)])
    let handled = try await stage.parley.read { try $0.handled(stream) }
    #expect(handled == nil, "their stanzas do not count as handled")
    await stage.parley.stop()
  }

  @Test func aStopCommitsWhatWaits() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    stage.parley.setPhase(.stopping)
    #expect(try await stage.say("last words", from: romeo, to: juliet).entry != nil)
  }

  /// Anybody can make work fail, such as the revocation of a password that is unknown: others are not judged again for it.
  @Test(arguments: [false, true]) func workThatHasWrittenNothingFailsAlone(writes: Bool) async throws {
    let stage = try Stage()
    let juliet = try await stage.user("juliet")
    let (session, now, runs) = (RecordingSession(juliet), stage.clock.now, Runs())
    func submit(_ work: WriteTransaction) {
      let completion = Post.Completion.session(session, token: session.nextToken())
      #expect(stage.parley.submit(Post(author: juliet, intent: .work(work), completion: completion)))
    }
    try await stage.together(juliet) {
      submit(
        WriteTransaction(keepsCaches: true) { _ in
          runs.count.withLock { $0 += 1 }
          return true
        })
      submit(
        WriteTransaction { writer in
          if writes { try writer.setLastSeen(now, for: juliet.id) }
          throw Problem(.conflict, "no", "It does not work.")
        })
    }
    #expect(session.taken() == [.done(1), .refused(2, .conflict)])
    #expect(runs.count.withLock { $0 } == (writes ? 2 : 1))
    #expect(try await stage.parley.read { try $0.user(juliet.id)?.lastSeenAt } == nil)
  }

  private final class Runs: Sendable {
    let count = Mutex(0)
  }

  @Test func anAppsRepeatAnswersTheFirstMessageAndAnotherBodyIsAConflict() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let key = RepeatKey(rule: .app, id: "m1", bodyHash: 1)
    let first = try await stage.say("hi", from: romeo, to: juliet, key: key)
    let again = try await stage.say("hi", from: romeo, to: juliet, key: key)
    #expect(!first.isRepeat)
    #expect(again.isRepeat)
    #expect(again.entry?.position == first.entry?.position)
    do {
      _ = try await stage.say("ho", from: romeo, to: juliet, key: RepeatKey(rule: .app, id: "m1", bodyHash: 2))
      Issue.record("a used clientId with another body was accepted")
    } catch let problem as Problem {
      #expect(problem.kind == .conflict)
      #expect(problem.field == "clientId")
    }
    // Another author and another dialog have ids of their own.
    #expect(try await !stage.say("hi", from: juliet, to: romeo, key: key).isRepeat)
  }

  @Test func anXMPPIDWithOtherContentIsANewMessage() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    #expect(
      try await !stage.say("a", from: romeo, to: juliet, key: RepeatKey(rule: .xmpp, id: "1", bodyHash: 1)).isRepeat)
    #expect(
      try await !stage.say("b", from: romeo, to: juliet, key: RepeatKey(rule: .xmpp, id: "1", bodyHash: 2)).isRepeat)
    #expect(
      try await stage.say("b", from: romeo, to: juliet, key: RepeatKey(rule: .xmpp, id: "1", bodyHash: 2)).isRepeat)
  }

  @Test func timeNeverDecreasesWithPosition() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    stage.clock.set(2_000_000_000_000)
    let first = try await stage.say("late", from: romeo, to: juliet)
    stage.clock.set(1_900_000_000_000)
    let second = try await stage.say("the clock went back", from: romeo, to: juliet)
    #expect(second.entry?.time == first.entry?.time)
  }

  @Test func publicIDsOpenOnlyInTheirRealmAndPurpose() {
    let realm = Realm(id: RealmID(1), domain: "a", rooms: "conference.a", key: Array(repeating: 1, count: 32), epoch: 1)
    let other = Realm(id: RealmID(2), domain: "b", rooms: "conference.b", key: Array(repeating: 2, count: 32), epoch: 1)
    let restored = Realm(id: RealmID(1), domain: "a", rooms: "conference.a", key: realm.key, epoch: 2)
    let sealer = Sealer(realm: realm, purpose: .entry)
    for number: Int64 in [0, 1, 2, 1 << 40, .max] {
      let id = sealer.seal(number)
      #expect(sealer.open(id) == number)
      #expect(PublicID(id.description) == id)
      #expect(Sealer(realm: realm, purpose: .dialog).open(id) == nil)
      #expect(Sealer(realm: other, purpose: .entry).open(id) == nil)
      #expect(Sealer(realm: restored, purpose: .entry).open(id) == nil)
    }
    #expect(sealer.seal(1).description != sealer.seal(2).description)
    #expect(PublicID("xyz") == nil)
  }

  /// A restored backup assigns numbers again: they are other things then, with other ids.
  @Test func anEpochKeepsTheIDsBeforeItAndKnowsNoneThatWereLost() {
    func realm(_ later: (after: Int64, number: UInt32)...) -> Realm {
      Realm(
        id: RealmID(1), domain: "a", rooms: "conference.a", key: Array(repeating: 1, count: 32), epoch: 1,
        laterEpochs: later.map {
          Epoch(after: Position($0.after), DialogID(5), number: $0.number, began: Timestamp(milliseconds: 0))
        })
    }
    for purpose in [Sealer.Purpose.entry, .cursor] {
      let lost = Sealer(realm: realm(), purpose: purpose)
      let once = Sealer(realm: realm((10, 7)), purpose: purpose)
      let twice = Sealer(realm: realm((10, 7), (20, 9)), purpose: purpose)
      for number: Int64 in [0, 1, 10] {
        #expect(once.open(lost.seal(number)) == number && twice.open(lost.seal(number)) == number)
      }
      for number: Int64 in [11, 12, .max] {
        #expect(once.open(lost.seal(number)) == nil)
        #expect(once.open(once.seal(number)) == number)
        #expect(once.seal(number) != lost.seal(number))
      }
      #expect(twice.open(once.seal(20)) == 20 && twice.open(once.seal(21)) == nil && twice.open(lost.seal(21)) == nil)
    }
    let (lost, once) = (Sealer(realm: realm(), purpose: .dialog), Sealer(realm: realm((10, 7)), purpose: .dialog))
    #expect(once.open(lost.seal(5)) == 5 && once.open(lost.seal(6)) == nil)
    #expect(
      Sealer(realm: realm((10, 7)), purpose: .member).open(Sealer(realm: realm(), purpose: .member).seal(1)) == nil)
  }
}
