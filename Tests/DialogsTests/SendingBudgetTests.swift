import Addresses
import Basics
import Logging
import ServerMetrics
import Synchronization
import Testing

@testable import Dialogs

@Suite struct SendingBudgetTests {
  private let metrics = Metrics()
  private let known = KnownDomains()

  private func time(_ milliseconds: Int64) -> Timestamp { Timestamp(milliseconds: milliseconds) }

  private func budgets(stanzas: Int = 200, bytes: Int = 1_000) -> SendingBudgets {
    var policy = SendingPolicy()
    policy.stanzasPerSecond = stanzas
    policy.bytesPerSecond = bytes
    return SendingBudgets(
      policy, known: known, metrics: metrics, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  private func user(_ number: Int64) throws -> Party {
    Party(id: UserID(number), realm: RealmID(1), address: try BareJID("user\(number)@localhost"))
  }

  /// The pauses so far, by stanzas, by bytes and by deliveries.
  private var pauses: [Sample.Value]? { metrics.sendingPauses.samples(Readings())?.map(\.value) }

  /// A thousand stanzas at once, then two hundred a second. Each beyond them is handled and pauses reading.
  @Test func stanzasBeyondTheBurstPauseReading() throws {
    let budget = budgets().budget(of: try user(1), from: nil, now: time(0))
    for _ in 0..<1_000 { #expect(budget.charge(stanzas: 1, bytes: 0, now: time(0)) == nil) }
    #expect(budget.charge(stanzas: 1, bytes: 0, now: time(0)) == .milliseconds(100))
    #expect(pauses == [.number(1), .number(0), .number(0)])
    // After the pause there are twenty less the one that was owed.
    for _ in 0..<19 { #expect(budget.charge(stanzas: 1, bytes: 0, now: time(100)) == nil) }
    #expect(budget.charge(stanzas: 1, bytes: 0, now: time(100)) == .milliseconds(100))
    // Five seconds later it is full again, and no fuller.
    #expect(!budget.isFull(now: time(5_000)))
    #expect(budget.isFull(now: time(5_110)))
    for _ in 0..<1_000 { #expect(budget.charge(stanzas: 1, bytes: 0, now: time(60_000)) == nil) }
    #expect(budget.charge(stanzas: 1, bytes: 0, now: time(60_000)) != nil)
  }

  @Test func bytesBeyondTheBurstPauseReadingUntilTheyArePaidOff() throws {
    let budget = budgets(bytes: 1_000).budget(of: try user(1), from: nil, now: time(0))
    #expect(budget.charge(stanzas: 1, bytes: 8_000, now: time(0)) == nil)
    #expect(budget.charge(stanzas: 1, bytes: 250, now: time(0)) == .milliseconds(250))
    #expect(pauses == [.number(0), .number(1), .number(0)])
    #expect(budget.charge(stanzas: 0, bytes: 0, now: time(250)) == nil)
    // However much is owed, a connection is read again before it counts as silent.
    #expect(budget.charge(stanzas: 1, bytes: 1_000_000, now: time(250)) == .seconds(30))
  }

  /// A server that has not proved its domain is read again soon, whatever others of its network have sent: it must be verified in time.
  @Test func peersOfANetworkPauseShortlyForOneAnother() throws {
    let budgets = budgets()
    let owing = budgets.budget(of: .peer("192.0.2.1"), now: time(0))
    #expect(owing.charge(stanzas: 1_000_000, bytes: 0, now: time(0)) == .seconds(2))
    #expect(owing.charge(stanzas: 0, bytes: 0, now: time(2_000)) == .seconds(2))
    #expect(budgets.budget(of: .peer("192.0.2.2"), now: time(0)).charge(stanzas: 1, bytes: 0, now: time(0)) == nil)
    let verified = budgets.budget(of: .domain("capulet.example"), now: time(0))
    #expect(verified.charge(stanzas: 1_000_000, bytes: 0, now: time(0)) == .seconds(30))
  }

  /// While input waits, each pause leaves less than what a second brings.
  @Test func inputMayWaitUntilASecondsWorthIsLeft() throws {
    let budget = budgets(bytes: 1 << 30).budget(of: try user(1), from: nil, now: time(0))
    #expect(!budget.mayHoldInput(now: time(0)))
    _ = budget.charge(stanzas: 1_001, bytes: 0, now: time(0))
    var now: Int64 = 0
    for _ in 0..<30 {
      now += 100
      #expect(budget.mayHoldInput(now: time(now)))
      while budget.charge(stanzas: 1, bytes: 0, now: time(now)) == nil {}
    }
    // Nothing waits any more.
    #expect(budget.mayHoldInput(now: time(now + 990)))
    #expect(!budget.mayHoldInput(now: time(now + 1_010)))
  }

  /// Requests are refused instead, and a refused one costs nothing.
  @Test func messagesOfTheAppProtocolShareTheStanzas() throws {
    let budget = budgets().budget(of: try user(1), from: nil, now: time(0))
    _ = budget.charge(stanzas: 998, bytes: 0, now: time(0))
    let log = RateLog()
    try budget.take(messages: 1, now: time(0), telling: log)
    #expect(
      log.tightest == RateLimitStatus(policy: "messages", quota: 1_000, window: 5, remaining: 1, reset: 1))
    try budget.take(messages: 1, now: time(0), telling: log)
    for _ in 0..<3 {
      let problem = #expect(throws: Problem.self) { try budget.take(messages: 1, now: time(0), telling: log) }
      #expect(problem?.code == "messages-too-fast" && problem?.retryAfter == 1)
    }
    #expect(log.tightest?.remaining == 0)
    try budget.take(messages: 1, now: time(10))
    #expect(budget.charge(stanzas: 3, bytes: 0, now: time(10)) != nil)
  }

  /// Whatever is asked for waits while stanzas are owed, as earlier requests may have cost as many; it costs none itself.
  @Test func requestsOfTheAppWaitWhileStanzasAreOwed() throws {
    let budget = budgets().budget(of: try user(1), from: nil, now: time(0))
    budget.owe(stanzas: 1_000, now: time(0))
    try budget.checkStanzas(now: time(0))
    #expect(budget.startPoll(now: time(0)) == nil)
    budget.owe(stanzas: 400, now: time(0))
    let log = RateLog()
    let problem = #expect(throws: Problem.self) { try budget.checkStanzas(now: time(0), telling: log) }
    #expect(problem?.code == "requests-too-fast" && problem?.retryAfter == 2)
    #expect(log.tightest == RateLimitStatus(policy: "messages", remaining: 0, reset: 2))
    #expect(budget.startPoll(now: time(1_900)) == .milliseconds(200))
    try budget.checkStanzas(now: time(2_010))
    #expect(budget.startPoll(now: time(2_010)) == nil)
  }

  @Test func bytesOfTheAppProtocolShareTheBytes() throws {
    let budget = budgets(bytes: 1_000).budget(of: try user(1), from: nil, now: time(0))
    _ = budget.charge(stanzas: 1, bytes: 7_000, now: time(0))
    try budget.take(bytes: 900, now: time(0))
    let problem = #expect(throws: Problem.self) { try budget.take(bytes: 1_100, now: time(0)) }
    #expect(problem?.code == "bytes-too-fast" && problem?.retryAfter == 1)
    try budget.take(messages: 1, bytes: 100, now: time(0))
    // What a socket has read is charged in any case, and pauses it; its messages are not refused for it.
    #expect(budget.charge(stanzas: 0, bytes: 2_000, now: time(0)) == .seconds(2))
    try budget.take(messages: 1, now: time(0))
    #expect(throws: Problem.self) { try budget.take(bytes: 1, now: time(1_900)) }
    try budget.take(bytes: 100, now: time(2_100))
  }

  /// Deliveries are known once something was posted, so they pause what comes behind it; what gives them back ends the debt.
  @Test func deliveriesBeyondTheBurstPauseReadingAndRefuseRequests() throws {
    let budgets = budgets(bytes: 1 << 30)
    let budget = budgets.budget(of: try user(1), from: nil, now: time(0))
    for _ in 0..<40 { _ = DeliveryCharge(5_000, to: budget, now: time(0)) }
    #expect(budget.charge(stanzas: 1, bytes: 0, now: time(0)) == nil)
    try budget.take(messages: 1, bytes: 1, now: time(0))
    let last = DeliveryCharge(25_000, to: budget, now: time(0))
    #expect(budget.charge(stanzas: 1, bytes: 0, now: time(0)) == .milliseconds(500))
    #expect(pauses == [.number(0), .number(0), .number(1)])
    let log = RateLog()
    for (messages, bytes) in [(1, 0), (0, 1), (0, 0)] {
      let problem = #expect(throws: Problem.self) {
        try budget.take(messages: messages, bytes: bytes, now: time(0), telling: log)
      }
      #expect(problem?.code == "deliveries-too-fast" && problem?.retryAfter == 1)
    }
    #expect(log.tightest == RateLimitStatus(policy: "deliveries", remaining: 0, reset: 1))
    let account = BoundAccount(account: budget.account, bound: .deliveries, at: time(0))
    #expect(budgets.bound(now: time(1)) == [account])
    #expect(budget.mayHoldInput(now: time(0)))
    last.giveBack(now: time(0))
    last.giveBack(now: time(0))
    #expect(budget.charge(stanzas: 1, bytes: 0, now: time(0)) == nil)
    budget.owe(deliveries: 1, now: time(0))
    #expect(budget.charge(stanzas: 1, bytes: 0, now: time(0)) == .milliseconds(100))
    // 50,000 a second, and 200,000 in the end.
    #expect(!budget.isFull(now: time(4_000)))
    #expect(budget.isFull(now: time(4_001)))
  }

  /// A pause looks every second whether what made it was given back, and is no longer than it was.
  @Test func aPauseEndsWhenItsChargeIsGivenBack() throws {
    final class Timers: Sendable {
      private let started = Mutex<[Duration]>([])
      private let bodies = Mutex<[@Sendable () -> Void]>([])
      private let ended = Mutex(0)
      var times: [Duration] { started.withLock { $0 } }
      var ends: Int { ended.withLock { $0 } }
      func start(_ time: Duration, _ body: @escaping @Sendable () -> Void) {
        started.withLock { $0.append(time) }
        bodies.withLock { $0.append(body) }
      }
      func end() { ended.withLock { $0 += 1 } }
      func fire() {
        let body = bodies.withLock { $0.removeFirst() }
        body()
      }
    }
    struct FixedClock: Clock { let now: Timestamp }
    let clock = FixedClock(now: time(0))
    let budget = budgets().budget(of: try user(1), from: nil, now: time(0))
    func pause() -> Timers {
      let timers = Timers()
      budget.endPause(after: .milliseconds(2_500), clock, { timers.start($0, $1) }, end: { timers.end() })
      return timers
    }
    let charge = DeliveryCharge(1_000_000, to: budget, now: time(0))
    let whole = pause()
    for _ in 0..<3 {
      #expect(whole.ends == 0)
      whole.fire()
    }
    #expect(whole.times == [.seconds(1), .seconds(1), .milliseconds(500)] && whole.ends == 1)
    let lifted = pause()
    lifted.fire()
    charge.giveBack(now: time(0))
    #expect(lifted.ends == 0)
    lifted.fire()
    #expect(lifted.times == [.seconds(1), .seconds(1)] && lifted.ends == 1)
  }

  /// A user's deliveries follow the stanzas that the operator has set; a domain elsewhere has four times those of a user by
  /// default.
  @Test func deliveriesOfAnAccountHaveItsRate() throws {
    let fast = budgets(stanzas: 2_000, bytes: 1 << 30).budget(of: try user(1), from: nil, now: time(0))
    fast.owe(deliveries: 2_000_000, now: time(0))
    #expect(fast.charge(stanzas: 1, bytes: 0, now: time(0)) == nil)
    let budgets = budgets()
    for account in [SendingAccount.domain("mantua.example"), .component("irc.localhost"), .peer("192.0.2.1")] {
      let budget = budgets.budget(of: account, now: time(0))
      budget.owe(deliveries: 250_000, now: time(0))
      #expect(budget.charge(stanzas: 1, bytes: 0, now: time(0)) == nil)
      budget.owe(deliveries: 200_000, now: time(0))
      #expect(budget.charge(stanzas: 1, bytes: 0, now: time(0)) == .seconds(1))
    }
  }

  /// Two users' deliveries in the long run; beyond half a second's debt its posts are refused, and who posts waits for it.
  @Test func aRoomHasAShare() throws {
    let budgets = budgets()
    let hall = SendingAccount.room(try BareJID("hall@conference.localhost"))
    let room = budgets.budget(of: hall, now: time(0))
    #expect(room === budgets.budget(of: hall, now: time(0)))
    func post(_ number: Int64, _ count: Int) throws -> DeliveryCharge {
      let author = budgets.budget(of: try user(number), from: nil, now: time(0))
      author.wait(for: room, now: time(0))
      let charge = DeliveryCharge(count, to: author, in: room, now: time(0))
      try charge.checkRoom(now: time(0))
      charge.chargeRoom(now: time(0))
      charge.chargeRoom(now: time(0))
      return charge
    }
    for number in 1...4 { _ = try post(Int64(number), 50_000) }
    let last = try post(5, 50_001)
    // Nobody has caused as much as one may, so nobody but who posts now waits.
    let (fifth, sixth) = try (user(5), user(6))
    #expect(budgets.budget(of: fifth, from: nil, now: time(0)).charge(stanzas: 1, bytes: 0, now: time(0)) == nil)
    let problem = #expect(throws: Problem.self) { _ = try post(6, 100) }
    #expect(problem?.code == "deliveries-too-fast" && problem?.retryAfter == 1)
    // No longer than for what the room may owe.
    let waiting = budgets.budget(of: sixth, from: nil, now: time(0))
    #expect(waiting.charge(stanzas: 1, bytes: 0, now: time(0)) == .milliseconds(500))
    #expect(throws: Problem.self) { try waiting.take(messages: 1, now: time(499)) }
    try waiting.take(bytes: 1, now: time(499), waitsForRooms: false)
    #expect(waiting.mayHoldInput(now: time(501)))
    #expect(waiting.charge(stanzas: 1, bytes: 0, now: time(501)) == nil)
    // A clock that is set back makes nobody wait for long.
    #expect(waiting.charge(stanzas: 1, bytes: 0, now: time(-3_600_000)) == nil)
    // It is listed, and what was given back is not owed.
    #expect(budgets.bound(now: time(1)).contains(BoundAccount(account: hall, bound: .deliveries, at: time(0))))
    last.giveBack(now: time(0))
    _ = try post(7, 100)
  }

  // MARK: Networks

  /// Fifty accounts of one network send as much at once as each of them may. Their network has sent five times as much as it may, and
  /// each of them waits until it is paid off. A neighbour waits for a second at most, and other networks not at all.
  @Test func theUsersOfANetworkShareWhatItMaySend() throws {
    let budgets = budgets(bytes: 1 << 20)
    let all = try (Int64(1)...50).map { budgets.budget(of: try user($0), from: "192.0.2.1", now: time(0)) }
    for budget in all.prefix(10) { #expect(budget.charge(stanzas: 1_000, bytes: 0, now: time(0)) == nil) }
    for budget in all.dropFirst(10) { budget.owe(stanzas: 1_000, now: time(0)) }
    for budget in all { #expect(budget.charge(stanzas: 0, bytes: 0, now: time(0)) == .seconds(20)) }
    #expect(pauses == [.number(50), .number(0), .number(0)])
    #expect(budgets.bound(now: time(0)).map(\.account) == [.network("192.0.2.1")])
    let neighbour = budgets.budget(of: try user(51), from: "192.0.2.1", now: time(0))
    #expect(neighbour.charge(stanzas: 1, bytes: 0, now: time(0)) == nil)
    #expect(neighbour.charge(stanzas: 48, bytes: 0, now: time(0)) == .seconds(1))
    #expect(neighbour.mayHoldInput(now: time(0)))
    try neighbour.take(messages: 1, bytes: 100, now: time(0))
    let other = budgets.budget(of: try user(52), from: "192.0.2.2", now: time(0))
    #expect(other.charge(stanzas: 1_000, bytes: 0, now: time(0)) == nil)
    // A user of the network is not held back elsewhere, and its own bounds are the same everywhere.
    let elsewhere = budgets.budget(of: try user(1), from: "192.0.2.2", now: time(0))
    #expect(elsewhere.charge(stanzas: 0, bytes: 0, now: time(0)) == nil)
    #expect(elsewhere.charge(stanzas: 40, bytes: 0, now: time(0)) == .milliseconds(200))
    // Every second the network pays off two thousand.
    #expect(all[1].charge(stanzas: 0, bytes: 0, now: time(10_000)) == .milliseconds(10_025))
    #expect(all[1].charge(stanzas: 0, bytes: 0, now: time(20_100)) == nil)
  }

  /// Requests of those who have sent most are refused, with what they would have to wait. What is refused is not charged.
  @Test func requestsOfANetworkInDebtAreRefused() throws {
    let budgets = budgets(bytes: 1 << 20)
    let all = try (Int64(1)...50).map { budgets.budget(of: try user($0), from: "2001:db8:1:1", now: time(0)) }
    for budget in all { budget.owe(stanzas: 1_000, now: time(0)) }
    func refusal(_ body: () throws(Problem) -> Void) -> Problem? {
      do throws(Problem) { try body() } catch { return error }
      return nil
    }
    for _ in 0..<2 {
      let refusals = [
        refusal { () throws(Problem) in try all[0].take(messages: 1, now: time(0)) },
        refusal { () throws(Problem) in try all[0].take(bytes: 1, now: time(0)) },
        refusal { () throws(Problem) in try all[0].checkStanzas(now: time(0)) },
      ]
      #expect(refusals.map { $0?.code } == ["messages-too-fast", "bytes-too-fast", "requests-too-fast"])
      #expect(refusals.allSatisfy { $0?.retryAfter == 21 })
    }
    #expect(all[0].charge(stanzas: 0, bytes: 0, now: time(0)) == .seconds(20))
    try all[0].take(messages: 1, now: time(20_100))
  }

  @Test func theBytesAndDeliveriesOfANetworkAreBounded() throws {
    let budgets = budgets(bytes: 1 << 20)
    let all = try (Int64(1)...10).map { budgets.budget(of: try user($0), from: "192.0.2.1", now: time(0)) }
    for budget in all.prefix(4) { #expect(budget.charge(stanzas: 0, bytes: 8 << 20, now: time(0)) == nil) }
    #expect(all[4].charge(stanzas: 0, bytes: 8 << 20, now: time(0)) == .seconds(1))
    #expect(pauses == [.number(0), .number(1), .number(0)])
    for budget in all.prefix(5) { budget.owe(deliveries: 180_000, now: time(60_000)) }
    #expect(all[0].charge(stanzas: 0, bytes: 0, now: time(60_000)) == .milliseconds(500))
    // What is given back pays for all.
    all[1].owe(deliveries: -180_000, now: time(60_000))
    #expect(all[0].charge(stanzas: 0, bytes: 0, now: time(60_000)) == nil)
    // A class of 500 enters a room and says something.
    let school = try (Int64(11)...510).map { budgets.budget(of: try user($0), from: "198.51.100.1", now: time(60_000)) }
    for (place, budget) in school.enumerated() {
      budget.owe(deliveries: place + 500, now: time(60_000))
      #expect(budget.charge(stanzas: 15, bytes: 0, now: time(60_000)) == nil)
    }
  }

  /// 2,000 people behind one address are back within a minute of a restart.
  @Test func aSchoolThatIsBackDoesNotWait() throws {
    let budgets = budgets(bytes: 1 << 20)
    for number in 0..<Int64(2_000) {
      let budget = budgets.budget(of: try user(number), from: "192.0.2.1", now: time(number * 30))
      #expect(budget.charge(stanzas: 10, bytes: 20_000, now: time(number * 30)) == nil)
    }
  }

  /// An address behind which there are many networks has no budget, nor has one without a bound. A network sends as much as a user.
  @Test func someNetworksHaveNoBudget() throws {
    var policy = SendingPolicy()
    policy.networkStanzasPerSecond = 10
    policy.unlimited.networks = [try #require(Network("192.0.2.0/24"))]
    var networks = ClientNetworks()
    networks.trusted = [try #require(Network("198.51.100.0/24"))]
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let budgets = SendingBudgets(policy, known: known, networks: networks, metrics: metrics, logger: logger)
    for peer in ["127.0.0.1", "0:0:0:0", "192.0.2.9", "198.51.100.7", nil] {
      for number in 1...6 {
        let budget = budgets.budget(of: try user(Int64(number)), from: peer, now: time(0))
        #expect(budget.charge(stanzas: 200, bytes: 0, now: time(0)) == nil)
      }
    }
    let far = try (Int64(7)...8).map { budgets.budget(of: try user($0), from: "203.0.113.1", now: time(0)) }
    #expect(far[0].charge(stanzas: 1_000, bytes: 0, now: time(0)) == nil)
    #expect(far[1].charge(stanzas: 200, bytes: 0, now: time(0)) == .seconds(1))
    networks.isByNetwork = false
    let without = SendingBudgets(policy, known: known, networks: networks, metrics: metrics, logger: logger)
    for number in 1...3 {
      let budget = without.budget(of: try user(Int64(number)), from: "203.0.113.1", now: time(0))
      #expect(budget.charge(stanzas: 1_000, bytes: 0, now: time(0)) == nil)
    }
  }

  /// Whoever sends little has paid off its share at once, however much others send; the one who sends more waits for them.
  @Test func aNetworkPaysOffForAllAlike() {
    var shares = AccountShares(now: time(0))
    let (flood, neighbour) = (UserID(1), UserID(2))
    shares.add(10, by: flood, now: time(0))
    shares.add(0.02, by: neighbour, now: time(0))
    func wait(_ user: UserID, _ milliseconds: Int64) -> Duration {
      shares.wait(of: user, atMost: .seconds(20), now: time(milliseconds))
    }
    #expect(wait(flood, 0) == .seconds(20) && wait(neighbour, 0) == .zero)
    #expect(shares.wait(of: flood, atMost: .milliseconds(99), now: time(0)) == .zero)
    // Each has a half of this time, and the flood all of the next second.
    #expect(wait(flood, 500) == .milliseconds(9_750))
    #expect(wait(flood, 1_500) == .milliseconds(8_750))
    shares.add(-8, by: flood, now: time(1_500))
    #expect(wait(flood, 1_500) == .milliseconds(750))
    shares.add(-8, by: flood, now: time(1_500))
    #expect(wait(flood, 1_500) == .zero)
    // A clock that is set back pays nothing.
    shares.add(1, by: flood, now: time(1_500))
    #expect(wait(flood, -60_000) == .seconds(1))
    #expect(wait(flood, -59_500) == .milliseconds(500))
  }

  @Test func allSessionsOfAUserShareOneBudget() throws {
    let budgets = budgets()
    let (romeo, juliet) = (try user(1), try user(2))
    let first = budgets.budget(of: romeo, from: nil, now: time(0))
    #expect(first === budgets.budget(of: romeo, from: nil, now: time(0)))
    #expect(first !== budgets.budget(of: juliet, from: nil, now: time(0)))
  }

  /// A domain elsewhere and a component are accounts, and so are the peers of one network that have not proved who they are.
  @Test func allStreamsOfADomainShareOneBudget() throws {
    let budgets = budgets()
    let first = budgets.budget(of: .domain("mantua.example"), now: time(0))
    #expect(first === budgets.budget(of: .domain("mantua.example"), now: time(0)))
    #expect(first !== budgets.budget(of: .domain("padua.example"), now: time(0)))
    #expect(first !== budgets.budget(of: .component("mantua.example"), now: time(0)))
    // So do those of a network that are not verified, which are not listed.
    let stranger = budgets.budget(of: .peer("192.0.2.1"), now: time(0))
    #expect(stranger === budgets.budget(of: .peer("192.0.2.1"), now: time(0)))
    #expect(stranger !== budgets.budget(of: .peer("192.0.2.2"), now: time(0)))
    for budget in [first, stranger] {
      #expect(budget.charge(stanzas: 4_000, bytes: 4_194_304, now: time(0)) == nil)
      #expect(budget.charge(stanzas: 400, bytes: 0, now: time(0)) == .milliseconds(200))
      #expect(budget.charge(stanzas: 0, bytes: 1_048_576, now: time(0)) == .seconds(1))
    }
    #expect(budgets.bound(now: time(0)).map(\.account) == [.domain("mantua.example")])
    let component = budgets.budget(of: .component("irc.localhost"), now: time(0))
    #expect(component.charge(stanzas: 4_000, bytes: 67_108_864, now: time(0)) == nil)
    #expect(component.charge(stanzas: 0, bytes: 4_194_304, now: time(0)) == .milliseconds(500))
  }

  /// Whoever has a zone sends no more by many subdomains than by two, until somebody here knows somebody of them.
  @Test func theUnknownDomainsOfAZoneShareOneBudget() throws {
    let budgets = budgets()
    let all = (0..<5).map { budgets.budget(of: .domain("s\($0).spam.example"), now: time(0)) }
    for budget in all.prefix(2) { #expect(budget.charge(stanzas: 4_000, bytes: 4_194_304, now: time(0)) == nil) }
    #expect(all[2].charge(stanzas: 800, bytes: 0, now: time(0)) == .milliseconds(200))
    #expect(all[2].charge(stanzas: 0, bytes: 2_097_152, now: time(0)) == .seconds(1))
    #expect(all[2].mayHoldInput(now: time(0)))
    #expect(budgets.bound(now: time(0)).map(\.account) == [.zone("spam.example", isKnown: false)])
    // Other zones are not concerned, nor is a known domain of this one.
    let other = budgets.budget(of: .domain("mantua.example"), now: time(0))
    #expect(other.charge(stanzas: 1, bytes: 0, now: time(0)) == nil)
    #expect(known.insert("s2.spam.example", home: RealmID(1)))
    #expect(all[2].charge(stanzas: 3_200, bytes: 0, now: time(0)) == nil)
    #expect(all[2].charge(stanzas: 400, bytes: 0, now: time(0)) == .milliseconds(200))
    // Deliveries.
    for budget in all.suffix(2) { budget.owe(deliveries: 450_000, now: time(10_000)) }
    #expect(all[0].charge(stanzas: 1, bytes: 0, now: time(10_000)) == .seconds(1))
  }

  /// An account here makes subdomains known by writing to them: together they send no more than sixteen.
  @Test func theKnownDomainsOfAZoneShareABudget() throws {
    let budgets = budgets()
    let names = (0..<17).map { number in "s\(number).spam.example" }
    for name in names { #expect(known.insert(name, home: RealmID(1))) }
    let all = names.map { budgets.budget(of: .domain($0), now: time(0)) }
    for budget in all.prefix(16) { #expect(budget.charge(stanzas: 4_000, bytes: 4_194_304, now: time(0)) == nil) }
    #expect(all[16].charge(stanzas: 0, bytes: 4_194_304, now: time(0)) == .milliseconds(250))
    #expect(budgets.bound(now: time(0)).map(\.account) == [.zone("spam.example", isKnown: true)])
    // The zone's other domains are not concerned.
    let other = budgets.budget(of: .domain("new.spam.example"), now: time(0))
    #expect(other.charge(stanzas: 1, bytes: 0, now: time(0)) == nil)
  }

  @Test func someAreNotBound() throws {
    var policy = SendingPolicy()
    policy.stanzasPerSecond = 10
    policy.dayBytes = 1_000
    policy.unlimited.users = [try BareJID("bot@localhost")]
    policy.unlimited.domains = ["mantua.example"]
    policy.unlimited.networks = ["192.0.2.0/24", "2001:db8:1::/48"].compactMap { Network($0) }
    let budgets = SendingBudgets(
      policy, known: known, metrics: metrics, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let romeo = try user(1)
    let bot = Party(id: UserID(2), realm: RealmID(1), address: try BareJID("bot@localhost"))
    let unbound = [
      budgets.budget(of: bot, from: "198.51.100.1", now: time(0)), budgets.budget(of: bot, from: nil, now: time(0)),
      budgets.budget(of: romeo, from: "192.0.2.9", now: time(0)),
      budgets.budget(of: romeo, from: "2001:db8:1:7", now: time(0)),
      budgets.budget(of: .domain("mantua.example"), now: time(0)),
      budgets.budget(of: .component("mantua.example"), now: time(0)),
    ]
    for budget in unbound {
      budget.owe(deliveries: 1_000_000_000, now: time(0))
      #expect(budget.charge(stanzas: 1_000_000, bytes: 1 << 40, now: time(0)) == nil)
      try budget.take(messages: 1, bytes: 1_000, now: time(0))
      #expect(!budget.mayHoldInput(now: time(0)))
    }
    let bound = [
      budgets.budget(of: romeo, from: "198.51.100.1", now: time(0)),
      budgets.budget(of: .domain("padua.example"), now: time(0)),
    ]
    for budget in bound { #expect(budget.charge(stanzas: 1_000_000, bytes: 0, now: time(0)) == .seconds(30)) }
    let peer = budgets.budget(of: .peer("192.0.2.9"), now: time(0))
    #expect(peer.charge(stanzas: 1_000_000, bytes: 0, now: time(0)) == Limits.sendingPeerPauseMax)

    let stored = StoredBytes(policy)
    let elsewhere = Party(remote: try BareJID("a@mantua.example"), realm: RealmID(-1))
    try stored.check(1 << 40, of: [.user(bot)], beside: [:], at: time(0))
    try stored.check(1 << 40, of: [.user(elsewhere), .domain("mantua.example")], beside: [:], at: time(0))
    #expect(throws: Problem.self) { try stored.check(1_001, of: [.user(romeo)], beside: [:], at: time(0)) }
  }

  /// Who was held back or refused is listed for a minute, and for the bytes of a day until it ends.
  @Test func whoIsAtABoundIsListed() throws {
    var policy = SendingPolicy()
    policy.dayBytes = 1_000
    policy.bytesPerSecond = 1_000
    let budgets = SendingBudgets(
      policy, known: known, metrics: metrics, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let (first, second, third) = (try user(1), try user(2), try user(3))
    #expect(budgets.bound(now: time(0)) == [])
    _ = budgets.budget(of: second, from: nil, now: time(0)).charge(stanzas: 1_001, bytes: 0, now: time(5))
    let refusing = budgets.budget(of: first, from: nil, now: time(0))
    #expect(throws: Problem.self) { try refusing.take(bytes: 9_000, now: time(7)) }
    _ = budgets.budget(of: .domain("mantua.example"), now: time(0)).charge(stanzas: 4_001, bytes: 0, now: time(8))
    #expect(throws: Problem.self) { try budgets.checkStored(1_001, of: [.user(third)], beside: [:], at: time(9)) }
    let day = BoundAccount(account: .user(third), bound: .day, at: time(9))
    #expect(
      budgets.bound(now: time(60_004)) == [
        BoundAccount(account: .domain("mantua.example"), bound: .stanzas, at: time(8)),
        BoundAccount(account: .user(first), bound: .bytes, at: time(7)),
        BoundAccount(account: .user(second), bound: .stanzas, at: time(5)), day,
      ])
    #expect(budgets.bound(now: time(60_008)) == [day])
    #expect(budgets.bound(now: time(86_400_000)) == [])
  }

  /// Only budgets that are as good as new ones and that no session has are removed.
  @Test func fullBudgetsThatNobodyHoldsAreRemoved() throws {
    let budgets = budgets()
    let (holder, spender) = (try user(0), try user(1))
    let held = budgets.budget(of: holder, from: nil, now: time(0))
    _ = budgets.budget(of: spender, from: nil, now: time(0)).charge(stanzas: 1_000, bytes: 0, now: time(0))
    for number in 2..<1_024 { _ = budgets.budget(of: try user(Int64(number)), from: nil, now: time(0)) }
    #expect(budgets.count == 1_024)
    _ = budgets.budget(of: try user(1_024), from: nil, now: time(0))
    #expect(budgets.count == 3)
    #expect(budgets.budget(of: holder, from: nil, now: time(0)) === held)
    #expect(budgets.budget(of: spender, from: nil, now: time(0)).charge(stanzas: 1, bytes: 0, now: time(0)) != nil)
  }

  @Test func aDebtIsPaidOffInItsTime() {
    let rate = Rate(burst: 10, perSecond: 4)
    var bucket = TokenBucket(rate, now: time(0))
    #expect(bucket.debt(rate, now: time(0)) == nil)
    bucket.owe(rate, count: 11, now: time(0))
    #expect(bucket.debt(rate, now: time(0)) == .milliseconds(250))
    #expect(bucket.debt(rate, now: time(100)) == .milliseconds(150))
    #expect(bucket.debt(rate, now: time(250)) == nil)
  }
}
