import Addresses
import DialogsFixtures
import Synchronization
import Testing

@testable import Dialogs

@Suite struct JudgingTimeTests {
  /// Two clocks that the test sets, and the number of reads of the thread's.
  private final class Times: Sendable {
    let wall = Mutex(Duration.seconds(100))
    let thread = Mutex(Duration.seconds(7))
    let reads = Mutex(0)

    var clocks: JudgingClocks {
      JudgingClocks(
        wall: { self.wall.withLock { $0 } },
        thread: {
          self.reads.withLock { $0 += 1 }
          return self.thread.withLock { $0 }
        })
    }

    /// Lets time pass in stanzas, of which the thread ran for so many.
    func pass(_ stanzas: Int, ran: Int? = nil) {
      wall.withLock { $0 += Limits.stanzaTime * stanzas }
      thread.withLock { $0 += Limits.stanzaTime * (ran ?? stanzas) }
    }
  }

  @Test func whatTakesLongCountsAsManyStanzas() {
    let times = Times()
    var judging = JudgingTime(times.clocks)
    judging.batchBegins()
    times.pass(2)
    #expect(judging.postEnded(looks: 0) == 0)
    times.pass(3)
    #expect(judging.postEnded(looks: 0) == 0)
    #expect(judging.summed == .zero)
    // An ordinary post reads one clock, which is no system call.
    #expect(times.reads.withLock { $0 } == 1)
    times.pass(24)
    #expect(judging.postEnded(looks: 0) == 0)
    #expect(judging.summed == Limits.stanzaTime * 24)
    times.pass(25)
    #expect(judging.postEnded(looks: 0) == 25)
    #expect(judging.summed == .zero)
    times.pass(90)
    #expect(judging.postEnded(looks: 0) == 90)
    times.pass(100_000)
    #expect(judging.postEnded(looks: 0) == Limits.chargedStanzasMax)
  }

  /// The effects of a post count before they are made.
  @Test func whatTheEffectsLookAtIsCharged() {
    let times = Times()
    var judging = JudgingTime(times.clocks)
    judging.batchBegins()
    #expect(judging.postEnded(looks: 25 * Limits.looksPerStanza - 1) == 0)
    #expect(judging.postEnded(looks: 25 * Limits.looksPerStanza) == 25)
    times.pass(10)
    #expect(judging.postEnded(looks: 20 * Limits.looksPerStanza) == 30)
    #expect(judging.total == Limits.stanzaTime * 80 - Limits.lookTime)
  }

  /// The thread does not run while others do, and what the posts before took is theirs.
  @Test func theWorkOfOthersIsNotCharged() {
    let times = Times()
    var judging = JudgingTime(times.clocks)
    judging.batchBegins()
    times.pass(1_000, ran: 1)
    #expect(judging.postEnded(looks: 0) == 0)
    for _ in 0..<10 {
      times.pass(20)
      #expect(judging.postEnded(looks: 0) == 0)
    }
    times.pass(300, ran: 30)
    #expect(judging.postEnded(looks: 0) == 30)
    // What passes between two batches is nobody's.
    times.pass(500)
    judging.batchBegins()
    times.pass(26)
    #expect(judging.postEnded(looks: 0) == 26)
  }

  /// The author has a thousand stanzas at once: the first post that exceeds them is judged as well, and the next ones wait.
  @Test func theAuthorOfDearPostsWaits() async throws {
    let time = Mutex(Duration.zero)
    let clocks = JudgingClocks {
      time.withLock {
        $0 += Limits.stanzaTime * 300
        return $0
      }
    } thread: {
      time.withLock { $0 }
    }
    let stage = try Stage(judging: clocks)
    let romeo = try await stage.user("romeo")
    let juliet = try await stage.user("juliet")
    let now = stage.clock.now
    let budget = stage.parley.sending.budget(of: romeo, from: nil, now: now)
    for number in 1...4 {
      #expect(budget.charge(stanzas: 0, bytes: 0, now: now) == nil)
      try await stage.parley.post(.contact(address: juliet.address, name: "\(number)", groups: []), by: romeo)
    }
    #expect(budget.charge(stanzas: 0, bytes: 0, now: now) != nil)
    // Nobody else does.
    #expect(stage.parley.sending.budget(of: juliet, from: nil, now: now).charge(stanzas: 0, bytes: 0, now: now) == nil)
  }

  /// What is not charged by itself is charged once it sums up, to each account for itself. Of too many accounts nothing is kept.
  @Test func whatIsDearerThanAMessageIsSummedUp() throws {
    var sums = SummedTimes()
    func account(_ number: Int) throws -> SendingAccount {
      .user(Party(id: UserID(Int64(number)), realm: RealmID(1), address: try BareJID("user\(number)@localhost")))
    }
    let (one, other) = (try account(1), try account(2))
    let time = Limits.stanzaTime * 12
    let charged = (1...5).map { _ in sums.add(time, of: one) }
    #expect(charged == [0, 0, 36, 0, 0])
    #expect(sums.add(time, of: other) == 0)
    #expect(sums.add(time, of: one) == 36)
    for number in 3...Limits.summedAccountsMax {
      let next = try account(number)
      #expect(sums.add(time, of: next) == 0)
    }
    let last = try account(Limits.summedAccountsMax + 1)
    #expect(sums.add(time, of: last) == 0)
    let afterwards = (1...3).map { _ in sums.add(time, of: other) }
    #expect(afterwards == [0, 0, 36])
  }

  /// The author of posts that each take longer than a message waits as well, when there are many.
  @Test func theAuthorOfManyPostsThatAreALittleDearWaits() async throws {
    let time = Mutex(Duration.zero)
    let clocks = JudgingClocks {
      time.withLock {
        $0 += Limits.stanzaTime * 10
        return $0
      }
    } thread: {
      time.withLock { $0 }
    }
    let stage = try Stage(judging: clocks)
    let romeo = try await stage.user("romeo")
    let juliet = try await stage.user("juliet")
    let now = stage.clock.now
    let budget = stage.parley.sending.budget(of: romeo, from: nil, now: now)
    budget.owe(stanzas: 971, now: now)
    for number in 1...3 {
      #expect(number == 3 || budget.charge(stanzas: 0, bytes: 0, now: now) == nil)
      try await stage.parley.post(.contact(address: juliet.address, name: "\(number)", groups: []), by: romeo)
    }
    #expect(budget.charge(stanzas: 0, bytes: 0, now: now) != nil)
  }
}
