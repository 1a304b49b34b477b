import Addresses
import Basics
import Dialogs
import Synchronization
import Testing

@testable import AppDoor

/// How many requests read messages and build their answers at a time.
@Suite struct ReadPlacesTests {
  /// The requests that have a place, of all users and of each, and the most that had one at a time.
  private struct Counts {
    var now: [UserID: Int] = [:]
    var most: [UserID: Int] = [:]
    var mostOfAll = 0
    var served = 0

    mutating func begin(_ user: UserID) {
      now[user, default: 0] += 1
      most[user] = max(most[user] ?? 0, now[user] ?? 0)
      mostOfAll = max(mostOfAll, now.values.reduce(0, +))
    }

    mutating func end(_ user: UserID) {
      now[user, default: 0] -= 1
      served += 1
    }
  }

  private final class Shared: Sendable {
    let counts = Mutex(Counts())
  }

  @Test func furtherRequestsWaitAndAllAreServed() async {
    let places = ReadPlaces(max: 5, perUserMax: 2)
    let users = [UserID(1), UserID(2), UserID(3)]
    let shared = Shared()
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<300 {
        let user = users[number % 3]
        group.addTask {
          let place = ReadPlace(places, for: .user(user))
          await place.take()
          // One that has its place reads on.
          await place.take()
          shared.counts.withLock { $0.begin(user) }
          for _ in 0..<10 { await Task.yield() }
          shared.counts.withLock { $0.end(user) }
          place.end()
          place.end()
        }
      }
    }
    let all = shared.counts.withLock { $0 }
    #expect(all.served == 300)
    #expect(all.mostOfAll <= 5)
    for user in users { #expect(all.most[user] ?? 0 <= 2) }
  }

  /// A request that waits for events has no place meanwhile.
  @Test func aPlaceIsTakenAgain() async {
    let places = ReadPlaces(max: 1, perUserMax: 1)
    let (first, second) = (ReadPlace(places, for: .user(UserID(1))), ReadPlace(places, for: .user(UserID(1))))
    await first.take()
    first.end()
    await second.take()
    second.end()
    await first.take()
    first.end()
  }

  /// A large picture waits for its place no longer than its connection may be idle.
  @Test func whoHasWaitedTooLongTakesNoPlace() async {
    let places = ReadPlaces(max: 1, perUserMax: 1)
    let (first, second) = (ReadPlace(places, for: .user(UserID(1))), ReadPlace(places, for: .user(UserID(2))))
    await first.take()
    let late = await second.take(within: .milliseconds(1))
    #expect(!late)
    second.end()
    first.end()
    let free = await second.take(within: .seconds(60))
    #expect(free)
    second.end()
  }
}

/// Pages that end by the bytes of their messages.
@Suite struct PagingTests {
  private func entry(_ position: Int64, bytes: Int) throws -> Entry {
    let party = Party(id: UserID(1), realm: RealmID(1), address: try BareJID("a@b"))
    let content = Content(kind: .text, text: String(repeating: "x", count: bytes))
    let message = Message(sequence: position, content: content, envelope: Envelope(), traits: [])
    return Entry(
      position: Position(position), time: Timestamp(milliseconds: 0), dialog: DialogID(1), author: party,
      place: .peer(party), fact: .message(message), id: PublicID(high: 0, low: UInt64(position)))
  }

  @Test func aPageOfLongMessagesEndsEarly() throws {
    let long = try (1...9).map { try entry($0, bytes: 190_000) }
    let page = long.page(8)
    #expect(page.items.count == 6 && page.last?.position == Position(6))
    // The first one is on the page, however long it is.
    let longest = try [entry(1, bytes: 2 * Limits.pageBytesMax), entry(2, bytes: 1)].page(8)
    #expect(longest.items.count == 1 && longest.last?.position == Position(1))
    let whole = Array(long.prefix(6)).page(8)
    #expect(whole.items.count == 6 && whole.last?.position == nil)
    let short = try (1...9).map { try entry($0, bytes: 1) }.page(8)
    #expect(short.items.count == 8 && short.last?.position == Position(8))
  }
}
