import Addresses
import Basics
import Dialogs
import Testing

@testable import AppDoor

/// A generator that gives the same numbers every time.
struct Dice {
  private var state: UInt64
  init(seed: UInt64) { state = seed &* 0x9e37_79b9_7f4a_7c15 | 1 }
  mutating func roll(_ sides: Int) -> Int {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return Int(truncatingIfNeeded: state % UInt64(sides))
  }
}

@Suite struct FeedFollowerTests {
  private func entry(_ position: Int) -> Entry {
    let party = Party(id: UserID(1), realm: RealmID(1), address: BareJID(parsing: "a@b")!)  // a constant
    return Entry(
      position: Position(Int64(position)), time: Timestamp(milliseconds: 0), dialog: DialogID(1), author: party,
      place: .peer(party), fact: .dialogOpened, id: PublicID(high: 0, low: UInt64(position)))
  }

  private func page(_ positions: some Sequence<Int>, end: Int, isLast: Bool = true) -> LogPage {
    LogPage(entries: positions.map(entry), end: Position(Int64(end)), isLast: isLast)
  }

  private func positions(_ next: FeedFollower.Next) -> [Int64]? {
    guard case .live(let held, _) = next else { return nil }
    return held.map(\.entry.position.number)
  }

  @Test func withoutCursorOnlyNewEntriesAreTold() {
    var follower = FeedFollower(behind: nil, attended: Position(7))
    let wanted = (follower.read(), follower.read())
    #expect(wanted == (Position(7), nil))
    let next = follower.told(page([], end: 7), head: Position(7))
    #expect(next == .live(held: [], caughtUp: Position(7)))
    let told = [7, 8, 8].map { follower.deliver(entry($0), .feed) }
    #expect(told == [false, true, false])
  }

  @Test func aCursorAheadOfTheLogIsNotBelieved() {
    #expect(FeedFollower(behind: Position(99), attended: Position(7)).told == Position(7))
  }

  @Test func whatIsGoneEndsInResyncBeforeTheFirstPage() {
    var follower = FeedFollower(behind: Position(5), attended: Position(90))
    _ = follower.read()
    let skips = follower.skipsGone(Position(6), head: Position(91))
    #expect(skips)
    let behind = follower.read()
    #expect(behind == Position(91))
    // Nothing was missed at the place where it is now, nor by who has caught up.
    let again = follower.skipsGone(Position(6), head: Position(92))
    #expect(!again)
    let last = follower.told(page([], end: 92), head: Position(92))
    #expect(last == .live(held: [], caughtUp: Position(92)))
    let later = follower.skipsGone(Position(99), head: Position(99))
    #expect(!later)
  }

  @Test func tooFarBehindEndsInResync() {
    var follower = FeedFollower(behind: .zero, attended: Position(1_000), behindMax: 20)
    _ = follower.read()
    let first = follower.told(page(1...10, end: 10, isLast: false), head: Position(1_000))
    #expect(first == .more)
    let more = follower.read()
    #expect(more == Position(10))
    let second = follower.told(page(11...20, end: 20, isLast: false), head: Position(1_001))
    #expect(second == .resync)
    let behind = follower.read()
    #expect(behind == Position(1_001))
    let last = follower.told(page([], end: 1_003), head: Position(1_003))
    #expect(last == .live(held: [], caughtUp: Position(1_003)))
  }

  @Test func waitingEventsAreToldInOrder() {
    var follower = FeedFollower(behind: nil, attended: Position(7))
    _ = follower.read()
    let told = (follower.deliver(entry(8), .feedAnonymized), follower.deliver(entry(9), .feed))
    #expect(told == (false, false))
    guard case .live(let held, _) = follower.told(page([], end: 7), head: Position(7)) else {
      Issue.record("must be live after one page")
      return
    }
    #expect(held.map(\.entry.position.number) == [8, 9])
    #expect(held.map(\.form) == [.feedAnonymized, .feed])
  }

  @Test func aClientThatDoesNotReadIsHeldNothingFor() {
    var follower = FeedFollower(behind: nil, attended: .zero)
    _ = follower.read()
    _ = follower.told(page([], end: 0), head: .zero)
    let before = follower
    let head = Limits.heldEntriesMax * 3
    var told = 0
    for position in 1...head where follower.deliver(entry(position), .feed, lags: true) { told += 1 }
    #expect(told == 0)
    // Nothing is kept but that something is missed.
    #expect(follower.log.state == .behind && follower.told == before.told)
    let behind = follower.read()
    #expect(behind == .zero)
    // Too many come while the page is read to hold them, so one more page makes sure.
    for position in 1...head where follower.deliver(entry(position), .feed) { told += 1 }
    let first = follower.told(page(1...head, end: head), head: Position(Int64(head)))
    #expect(told == 0 && first == .more)
    _ = follower.read()
    let last = follower.told(page([], end: head), head: Position(Int64(head)))
    #expect(last == .live(held: [], caughtUp: nil))
  }

  /// A growing log, a hub that delivers late, a reader that reads at any time, a client that stops and continues: in
  /// every order of these the client receives every entry of its feed once, in order.
  @Test(arguments: 1...200)
  func neitherGapNorRepeat(seed: Int) {
    var dice = Dice(seed: UInt64(seed))
    // Entries of this user's feed are some of the log's.
    var log: [Bool] = (0..<dice.roll(40)).map { _ in dice.roll(3) > 0 }
    func feed(after: Position, limit: Int) -> [Entry] {
      Array(log.indices.filter { log[$0] && $0 + 1 > after.number }.map { entry($0 + 1) }.prefix(limit))
    }
    let start = dice.roll(log.count + 1)
    let attended = log.count
    var undelivered: [Entry] = []
    var told: [Int64] = []
    var caughtUp = 0
    var pageWanted = false
    var isStalled = false
    var follower = FeedFollower(behind: Position(Int64(start)), attended: Position(Int64(attended)))

    /// A page as the store had it when it was read, perhaps some time ago.
    var snapshot: LogPage?
    func want() {
      guard !isStalled, follower.read() != nil else { return }
      #expect(!pageWanted)
      pageWanted = true
    }
    func read() {
      let entries = feed(after: follower.told, limit: 5)
      let isLast = entries.count < 5
      snapshot = LogPage(
        entries: entries, end: isLast ? Position(Int64(log.count)) : entries[4].position, isLast: isLast)
    }
    func arrive() {
      guard let page = snapshot else { return }
      snapshot = nil
      pageWanted = false
      if isStalled { return follower.interrupt() }
      told += page.entries.map(\.position.number)
      switch follower.told(page, head: Position(Int64(log.count))) {
      case .live(let held, let at):
        if at != nil { caughtUp += 1 }
        told += held.map(\.entry.position.number)
      case .resync: Issue.record("nothing is far behind")
      case .more: break
      }
      want()
    }
    func deliver() {
      let next = undelivered.removeFirst()
      if follower.deliver(next, .feed, lags: isStalled) { told.append(next.position.number) }
    }

    want()
    for _ in 0..<400 {
      switch dice.roll(9) {
      case 0, 1:
        log.append(dice.roll(3) > 0)
        if log[log.count - 1] { undelivered.append(entry(log.count)) }
      case 2, 3: if !undelivered.isEmpty { deliver() }
      case 4: if pageWanted, snapshot == nil { read() }
      case 5: arrive()
      case 6: if dice.roll(3) == 0 { isStalled = true }
      case 7:
        isStalled = false
        want()
      default: break
      }
    }
    isStalled = false
    want()
    while pageWanted || !undelivered.isEmpty {
      if pageWanted {
        if snapshot == nil { read() }
        arrive()
      } else {
        deliver()
      }
    }
    let expected = log.indices.filter { log[$0] && $0 + 1 > start }.map { Int64($0 + 1) }
    #expect(told == expected)
    #expect(caughtUp == 1)
  }
}
