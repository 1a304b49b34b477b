import Addresses
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

  @Test func withoutCursorOnlyNewEntriesAreTold() {
    var follower = FeedFollower(behind: nil, attended: Position(7))
    guard case .read = follower.begin(),
      case .live(let held, let caughtUp) = follower.page([], head: Position(7), isLast: true).next
    else {
      Issue.record("must be live after one page")
      return
    }
    #expect(held.isEmpty && caughtUp == Position(7))
    let told = (follower.deliver(entry(7)), follower.deliver(entry(8)), follower.deliver(entry(8)))
    #expect(told == (false, true, false))
  }

  @Test func aCursorAheadOfTheLogIsNotBelieved() {
    let follower = FeedFollower(behind: Position(99), attended: Position(7))
    #expect(follower.told == Position(7))
  }

  @Test func tooFarBehindEndsInResync() {
    var follower = FeedFollower(behind: .zero, attended: Position(1_000), behindMax: 20)
    _ = follower.begin()
    let first = follower.page((1...10).map(entry), head: Position(1_000), isLast: false)
    guard case .read = first.next else {
      Issue.record("must read on")
      return
    }
    let second = follower.page((11...20).map(entry), head: Position(1_001), isLast: false)
    guard case .resync = second.next else {
      Issue.record("must resync")
      return
    }
    #expect(follower.told == Position(1_001))
    guard case .read = follower.readOn(),
      case .live(_, let caughtUp) = follower.page([], head: Position(1_003), isLast: true).next
    else {
      Issue.record("must catch up")
      return
    }
    #expect(caughtUp == Position(1_003))
  }

  @Test func whatWaitsIsToldAsItCame() {
    var follower = FeedFollower(behind: nil, attended: Position(7))
    _ = follower.begin()
    let told = (follower.deliver(entry(8), isVeiled: true), follower.deliver(entry(9)))
    #expect(told == (false, false))
    guard case .live(let held, _) = follower.page([], head: Position(7), isLast: true).next else {
      Issue.record("must be live after one page")
      return
    }
    #expect(held.map(\.position.number) == [8, 9])
    #expect(held.map(\.isVeiled) == [true, false])
  }

  @Test func aStalledClientHoldsLittle() {
    var follower = FeedFollower(behind: nil, attended: .zero)
    _ = follower.begin()
    _ = follower.page([], head: .zero, isLast: true)
    follower.stall()
    var told = 0
    for position in 1...(AppLimits.heldMax * 3) where follower.deliver(entry(position)) { told += 1 }
    #expect(told == 0)
    guard case .read = follower.resume() else {
      Issue.record("must read what was missed")
      return
    }
    let head = AppLimits.heldMax * 3
    let page = follower.page((1...head).map(entry), head: Position(Int64(head)), isLast: true)
    // Too many came to hold them, so one more page makes sure.
    guard page.tell.count == head, case .read = page.next else {
      Issue.record("must read once more")
      return
    }
    guard case .live(let held, nil) = follower.page([], head: Position(Int64(head)), isLast: true).next else {
      Issue.record("must be live, and not caught up twice")
      return
    }
    #expect(held.isEmpty)
  }

  /// A log that grows, a hub that delivers late, a reader that reads when it
  /// likes, a client that stops and goes on: whatever the order, the client is
  /// told every entry of its feed once, in order.
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

    func go(_ next: FeedFollower.Next) {
      switch next {
      case .wait: break
      case .read:
        #expect(!pageWanted)
        pageWanted = true
      case .live(let held, let at):
        if at != nil { caughtUp += 1 }
        told += held.map(\.position.number)
      case .resync: Issue.record("nothing is far behind")
      }
    }
    /// A page as the store had it when it was read, perhaps some time ago.
    var snapshot: (entries: [Entry], head: Position, isLast: Bool)?
    func read() {
      let entries = feed(after: follower.told, limit: 5)
      snapshot = (entries, Position(Int64(log.count)), entries.count < 5)
    }
    func arrive() {
      guard let page = snapshot else { return }
      snapshot = nil
      pageWanted = false
      let (tell, next) = follower.page(page.entries, head: page.head, isLast: page.isLast)
      told += tell.map(\.position.number)
      go(next)
    }
    func deliver() {
      let next = undelivered.removeFirst()
      if follower.deliver(next) { told.append(next.position.number) }
    }

    go(follower.begin())
    for _ in 0..<400 {
      switch dice.roll(9) {
      case 0, 1:
        log.append(dice.roll(3) > 0)
        if log[log.count - 1] { undelivered.append(entry(log.count)) }
      case 2, 3: if !undelivered.isEmpty { deliver() }
      case 4: if pageWanted, snapshot == nil { read() }
      case 5: arrive()
      case 6:
        if !isStalled, dice.roll(3) == 0 {
          isStalled = true
          follower.stall()
        }
      case 7:
        if isStalled {
          isStalled = false
          go(follower.resume())
        }
      default: break
      }
    }
    if isStalled { go(follower.resume()) }
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
