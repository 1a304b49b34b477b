import Addresses
import Basics
import DialogsFixtures
import Synchronization
import Testing

@testable import Dialogs

/// Reads that take long are charged to whoever has asked for them.
@Suite struct ReadChargeTests {
  /// A thread's clock, which reads let pass, and the number of looks at it.
  private final class Times: Sendable {
    let passed = Mutex(Duration.zero)
    let looks = Mutex(0)

    var clocks: JudgingClocks {
      JudgingClocks(
        wall: { .zero },
        thread: {
          self.looks.withLock { $0 += 1 }
          return self.passed.withLock { $0 }
        })
    }

    /// Reads for the time of so many stanzas. Returns the looks at the clock.
    func read(_ stanzas: Int, for owner: ReadOwner?, _ parley: Parley) async throws -> Int {
      let before = looks.withLock { $0 }
      try await parley.read(for: owner) { _ in self.passed.withLock { $0 += Limits.readStanzaTime * stanzas } }
      return looks.withLock { $0 } - before
    }
  }

  @Test func whoAsksForLongReadsOwesStanzas() async throws {
    let times = Times()
    let stage = try Stage(judging: times.clocks)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let (parley, now) = (stage.parley, stage.clock.now)
    let budget = parley.sending.budget(of: romeo, from: nil, now: now)
    // What may come at once.
    budget.owe(stanzas: 1_000, now: now)
    let owner = parley.readOwner(romeo, from: nil)
    // An ordinary read is free, and costs one pair of looks.
    #expect(try await times.read(6, for: owner, parley) == 2)
    #expect(budget.charge(stanzas: 0, bytes: 0, now: now) == nil)
    try budget.checkStanzas(now: now)
    #expect(try await times.read(25, for: owner, parley) == 2)
    #expect(budget.charge(stanzas: 0, bytes: 0, now: now) == .milliseconds(125))
    _ = try await times.read(100_000, for: owner, parley)
    #expect(budget.charge(stanzas: 0, bytes: 0, now: now) == .milliseconds(2_125))
    let problem = #expect(throws: Problem.self) { try budget.checkStanzas(now: now) }
    #expect(problem?.code == "requests-too-fast" && problem?.retryAfter == 3)
    // Nobody else does.
    #expect(parley.sending.budget(of: juliet, from: nil, now: now).isFull(now: now))
  }

  /// What a user's sessions have missed is read for nothing up to an allowance, which comes again in ten minutes.
  @Test func readsOfWhatWasMissedAreChargedBeyondAnAllowance() async throws {
    let times = Times()
    let stage = try Stage(judging: times.clocks)
    let (parley, romeo) = (stage.parley, try await stage.user("romeo"))
    let budget = parley.sending.budget(of: romeo, from: nil, now: stage.clock.now)
    let owner = parley.readOwner(romeo, from: nil, for: .missed)
    let reads = Limits.missedReadRate.burst / 250
    for _ in 1...2 {
      // What may come at once.
      budget.owe(stanzas: 1_000, now: stage.clock.now)
      for _ in 1...reads { _ = try await times.read(250, for: owner, parley) }
      #expect(budget.charge(stanzas: 0, bytes: 0, now: stage.clock.now) == nil)
      _ = try await times.read(250, for: owner, parley)
      #expect(budget.charge(stanzas: 0, bytes: 0, now: stage.clock.now) == .milliseconds(1_250))
      #expect(!budget.isFull(now: stage.clock.now + .seconds(600)))
      stage.clock.set(stage.clock.now.milliseconds + 625_000)
      #expect(budget.isFull(now: stage.clock.now))
    }
  }

  /// Reads of the server, of strangers, and of what others have sent are charged to nobody, and look at no clock.
  @Test func otherReadsAreChargedToNobody() async throws {
    let times = Times()
    let stage = try Stage(judging: times.clocks)
    let romeo = try await stage.user("romeo")
    for owner in [nil, .user(romeo.id), .network("192.0.2.1")] as [ReadOwner?] {
      #expect(try await times.read(100_000, for: owner, stage.parley) == 0)
    }
    let now = stage.clock.now
    #expect(stage.parley.sending.budget(of: romeo, from: nil, now: now).isFull(now: now))
  }

  /// The reads of a person elsewhere are charged to the domain, as their posts are, and both kinds of a user's reads take turns.
  @Test func aPersonElsewhereIsChargedByDomain() async throws {
    let times = Times()
    let stage = try Stage(judging: times.clocks)
    let (parley, now) = (stage.parley, stage.clock.now)
    let realm = parley.federatedRealm(of: parley.realms[0].id).id
    let tybalt = Party(remote: try BareJID("tybalt@capulet.example"), realm: realm)
    let owner = parley.readOwner(tybalt, from: nil)
    let budget = parley.sending.budget(of: .domain("capulet.example"), now: now)
    budget.owe(stanzas: Limits.sendingDomainStanzas.burst, now: now)
    #expect(budget.charge(stanzas: 0, bytes: 0, now: now) == nil)
    _ = try await times.read(100_000, for: owner, parley)
    #expect(budget.charge(stanzas: 0, bytes: 0, now: now) != nil)
    #expect(owner == .user(tybalt.id) && Set([owner, .user(tybalt.id)]).count == 1)
    #expect(owner.network == .network(DomainZone.of("capulet.example")))
  }

  /// Users take turns with those of the same network, unless many networks are behind its address.
  @Test func aUserReadsInTheTurnsOfTheNetwork() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    for reason in [ReadReason.asked, .missed, .followed] {
      let owner = stage.parley.readOwner(romeo, from: "192.0.2.1", for: reason)
      #expect(owner == .user(romeo.id) && owner.network == .network("192.0.2.1"))
      #expect((owner.budget != nil) == (reason != .followed) && owner.isForMissed == (reason == .missed))
    }
    #expect(stage.parley.readOwner(romeo, from: nil).network == nil)
    var networks = ClientNetworks()
    networks.trusted = [try #require(Network("198.51.100.0/24")), try #require(Network("2001:db8:1::/48"))]
    for name in ["192.0.2.1", "2001:db8:0:1", "_hidden"] { #expect(networks.name(of: name) == name) }
    for name in ["127.0.0.1", "0:0:0:0", "198.51.100.7", "2001:db8:1:2"] { #expect(networks.name(of: name) == nil) }
    networks.isByNetwork = false
    #expect(networks.name(of: "192.0.2.1") == nil)
  }
}
