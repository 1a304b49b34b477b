import DialogsFixtures
import Dispatch
import Synchronization
import Testing

@testable import Dialogs

/// The order in which the jobs of many owners begin.
@Suite(.timeLimit(.minutes(1))) struct TurnsTests {
  /// Runs everything that waits, one after the other, and returns the jobs in the order in which they began.
  private func all(_ turns: inout Turns<String, String>) -> [String] {
    var begun: [String] = []
    while let next = turns.next() {
      begun.append(next.job)
      turns.end(next.owner, in: next.network)
    }
    return begun
  }

  @Test func anOwnerWithManyJobsDoesNotGoBeforeTheOthers() {
    var turns = Turns<String, String>(max: 1, perOwnerMax: 1)
    for number in 1...1_000 { turns.add("a\(number)", of: "a") }
    turns.add("b1", of: "b")
    turns.add("login", of: nil)
    turns.add("b2", of: "b")
    let begun = all(&turns)
    #expect(begun.prefix(6) == ["a1", "b1", "login", "a2", "b2", "a3"])
    #expect(begun.count == 1_003 && begun.last == "a1000")
  }

  @Test func anOwnerHasNeverAllPlaces() throws {
    var turns = Turns<String, String>(max: 3, perOwnerMax: 2)
    for number in 1...4 { turns.add("a\(number)", of: "a") }
    #expect(turns.next()?.job == "a1")
    #expect(turns.next()?.job == "a2")
    #expect(turns.next()?.job == nil)
    // The last place is for others.
    turns.add("b1", of: "b")
    #expect(turns.next()?.job == "b1")
    turns.add("c1", of: "c")
    #expect(turns.next()?.job == nil)
    turns.end("a")
    #expect(turns.next()?.job == "c1")
    turns.end("b")
    #expect(turns.next()?.job == "a3")
    // Nobody else waits, but the bound of one stays.
    turns.end("c")
    #expect(turns.next()?.job == nil)
    turns.end("a")
    #expect(turns.next()?.job == "a4")
  }

  @Test func aJobThatIsRemovedBeginsNever() {
    var turns = Turns<String, String>(max: 1, perOwnerMax: 1)
    let numbers = (1...4).map { turns.add("a\($0)", of: "a") }
    let only = turns.add("b1", of: "b")
    turns.add("c1", of: "c")
    turns.remove(numbers[0], of: "a")
    turns.remove(numbers[2], of: "a")
    turns.remove(only, of: "b")
    let begun = all(&turns)
    #expect(begun == ["a2", "c1", "a4"])
    // One that has begun stays under way.
    let later = turns.add("d1", of: "d")
    #expect(turns.next()?.job == "d1")
    turns.remove(later, of: "d")
    turns.add("d2", of: "d")
    #expect(turns.next()?.job == nil)
    turns.end("d")
    #expect(turns.next()?.job == "d2")
  }

  /// Jobs without an owner are of many.
  @Test func jobsWithoutAnOwnerMayHaveAllPlaces() {
    var turns = Turns<String, String>(max: 3, perOwnerMax: 1)
    for number in 1...4 { turns.add("\(number)", of: nil) }
    #expect([turns.next()?.job, turns.next()?.job, turns.next()?.job] == ["1", "2", "3"])
    turns.add("a1", of: "a")
    turns.end(nil)
    #expect(turns.next()?.job == "a1")
    turns.end(nil)
    #expect(turns.next()?.job == "4")
  }

  /// Each network has the turns of one, and its owners share them.
  @Test func networksTakeTurnsAndOwnersWithinThem() {
    var turns = Turns<String, String>(max: 1, perOwnerMax: 1)
    for number in 1...3 {
      for owner in ["a", "b", "c"] { turns.add("\(owner)\(number)", of: owner, in: "network") }
    }
    for number in 1...2 { turns.add("d\(number)", of: "d", in: "another") }
    turns.add("e1", of: "e")
    #expect(all(&turns) == ["a1", "d1", "e1", "b1", "d2", "c1", "a2", "b2", "c2", "a3", "b3", "c3"])
  }

  @Test func aNetworkHasNeverAllPlaces() {
    var turns = Turns<String, String>(max: 3, perOwnerMax: 2)
    for owner in ["a", "b"] {
      for number in 1...2 { turns.add("\(owner)\(number)", of: owner, in: "network") }
    }
    #expect([turns.next()?.job, turns.next()?.job, turns.next()?.job] == ["a1", "b1", nil])
    turns.add("c1", of: "c", in: "another")
    #expect(turns.next()?.job == "c1")
    turns.end("a", in: "network")
    #expect(turns.next()?.job == "a2")
    // An owner who comes from a second network has no more than before.
    turns.add("a3", of: "a", in: "another")
    turns.add("a4", of: "a", in: "another")
    turns.end("c", in: "another")
    #expect(turns.next()?.job == "a3")
    turns.end("b", in: "network")
    let begun = turns.next()
    #expect(begun?.job == "b2" && begun?.network == "network")
    turns.end("b", in: "network")
    #expect(turns.next()?.job == nil)
    turns.end("a", in: "network")
    #expect(turns.next()?.job == "a4")
  }

  /// Where its jobs are short, a network has all places while nobody else waits.
  @Test func aNetworkOfShortJobsHasAllPlacesWhileNobodyElseWaits() {
    var turns = Turns<String, String>(max: 2, perOwnerMax: 1)
    for owner in ["a", "b", "c", "d", "e"] { turns.add("\(owner)1", of: owner, in: "network") }
    #expect([turns.next()?.job, turns.next()?.job] == ["a1", nil])
    turns.end("a", in: "network", mayHaveAll: true)
    #expect([turns.next()?.job, turns.next()?.job, turns.next()?.job] == ["b1", "c1", nil])
    // The next place is for whoever comes from elsewhere.
    turns.add("g1", of: "g", in: "another")
    turns.end("b", in: "network", mayHaveAll: true)
    #expect([turns.next()?.job, turns.next()?.job] == ["g1", nil])
    turns.end("g", in: "another", mayHaveAll: true)
    #expect(turns.next()?.job == "d1")
    // A long job has ended.
    turns.end("c", in: "network")
    #expect(turns.next()?.job == nil)
    turns.end("d", in: "network")
    #expect([turns.next()?.job, turns.next()?.job] == ["e1", nil])
  }

  /// What is left of an owner whose first job is removed is in the network of the next one.
  @Test func aRemovedJobTakesItsNetworkAlong() {
    var turns = Turns<String, String>(max: 1, perOwnerMax: 1)
    let first = turns.add("a1", of: "a", in: "network")
    turns.add("a2", of: "a", in: "another")
    let only = turns.add("b1", of: "b", in: "network")
    turns.remove(first, of: "a")
    turns.remove(only, of: "b")
    let begun = turns.next()
    #expect(begun?.job == "a2" && begun?.network == "another")
    turns.end("a", in: "another")
    #expect(turns.next()?.job == nil)
  }

  /// The end of a job lets two begin: one of the same network, and one that the owner has waiting in another.
  @Test func bothThreadsWorkOn() async {
    let threads = SharedThreads<String>(label: "turns", count: 2)
    let (gate, hasBegun) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      threads.run(for: "a", in: "network") { gate.wait() }
      threads.run(for: "b", in: "network") { hasBegun.signal() }
      threads.run(for: "a", in: "another") {
        hasBegun.wait()
        continuation.resume()
      }
      gate.signal()
    }
  }

  /// Of two threads, a network has both after a job of at most twenty seconds, but for ten seconds after a longer one just one.
  @Test(arguments: [([0], true), ([20], true), ([21], false), ([21, 9], false), ([21, 10], true)])
  func aNetworkOfShortJobsHasAllThreads(behind times: [Int], hasAll: Bool) async {
    final class Time: Sendable { let now = Mutex(Duration.zero) }
    let time = Time()
    let loan = ThreadLoan(jobMax: .seconds(20), pause: .seconds(10), clock: { time.now.withLock { $0 } })
    let threads = SharedThreads<String>(label: "loans", count: 2, loan: loan)
    let (start, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let (names, begun) = AsyncStream.makeStream(of: String.self)
    for (number, seconds) in times.enumerated() {
      threads.run(for: "\(number)", in: "network") {
        if number == 0 { start.wait() }
        time.now.withLock { $0 += .seconds(seconds) }
      }
    }
    // The first one has the other network's thread begin while it runs: the second has it by then, or waits for the first.
    threads.run(for: "first", in: "network") {
      threads.run(for: "other", in: "another") {
        begun.yield("other")
        gate.signal()
      }
      gate.wait()
    }
    threads.run(for: "second", in: "network") { begun.yield("second") }
    start.signal()
    var order: [String] = []
    for await name in names {
      order.append(name)
      if order.count == 2 { break }
    }
    #expect(order == (hasAll ? ["second", "other"] : ["other", "second"]))
  }

  /// A user whose reads all wait for something has one thread left to others, on any machine.
  @Test func othersReadWhileAllReadsOfAUserAreBlocked() async throws {
    try await othersRead { romeo, _ in [.user(romeo.id)] }
  }

  /// So have the accounts of a network.
  @Test func othersReadWhileAllReadsOfANetworkAreBlocked() async throws {
    try await othersRead { romeo, juliet in [romeo, juliet].map { .user($0.id, in: "192.0.2.1") } }
  }

  /// Reads while all reads of these owners are blocked.
  private func othersRead(beside owners: (Party, Party) -> [ReadOwner]) async throws {
    let stage = try Stage()
    let (parley, romeo) = (stage.parley, try await stage.user("romeo"))
    let juliet = try await stage.user("juliet")
    let blocked = owners(romeo, juliet)
    let (begun, isBegun) = AsyncStream.makeStream(of: Void.self)
    let gate = DispatchSemaphore(value: 0)
    let reads = Task {
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<8 {
          let owner = blocked[number % blocked.count]
          group.addTask {
            _ = try? await ReadOwner.$current.withValue(owner) {
              try await parley.read { _ in
                isBegun.yield()
                gate.wait()
              }
            }
          }
        }
      }
    }
    for await _ in begun { break }
    #expect(try await parley.read { try $0.user(romeo.id)?.id } == romeo.id)
    for _ in 1...8 { gate.signal() }
    await reads.value
  }
}
