import Testing

@testable import Dialogs

/// An account and a network have a share of each batch, and the posts of an account keep their order.
@Suite struct InboxQueueTests {
  private struct Item: Hashable, Sendable {
    var author: String
    var number: Int
    var weight = 1
    var network: String?
  }
  private typealias Queue = InboxQueue<Item, String>

  private func items(_ author: String, _ numbers: Range<Int>, in network: String? = nil) -> [Item] {
    numbers.map { Item(author: author, number: $0, network: network) }
  }

  private func place(_ item: Item) -> Queue.Place {
    switch item.author {
    case "server": .passing
    // What ends the account.
    case "operator": .shared("a", in: nil)
    default: .shared(item.author, in: item.network)
    }
  }

  private func append(_ items: [Item], to queue: inout Queue) {
    for item in items { queue.append(item) }
  }

  private func take(_ queue: inout Queue) -> [Item] { queue.take(weight: { $0.weight }, place: place) }

  @Test func aShareIsTakenAtOnceAndInOrder() {
    var queue = Queue(share: 8, networkShare: 16, batchMax: 32)
    #expect(take(&queue) == [] && queue.isEmpty)
    let few = items("a", 0..<3) + items("operator", 0..<1) + items("b", 0..<1) + items("a", 3..<6)
    append(few, to: &queue)
    #expect(queue.count == 8)
    #expect(take(&queue) == few)
    #expect(take(&queue) == [] && queue.isEmpty)
  }

  @Test func oneWithThousandsHoldsUpNobody() {
    var queue = Queue(share: 128, networkShare: 256, batchMax: 2_048)
    append(items("a", 0..<4_000) + items("b", 0..<1), to: &queue)
    #expect(take(&queue) == items("a", 0..<128) + items("b", 0..<1))
    // The further posts of the account wait behind those before them, and others come.
    append(items("a", 4_000..<4_001) + items("b", 1..<3), to: &queue)
    #expect(take(&queue) == items("a", 128..<256) + items("b", 1..<3))
    var left: [[Item]] = []
    while !queue.isEmpty { left.append(take(&queue)) }
    #expect(left.count == 30 && left.flatMap { $0 } == items("a", 256..<4_001))
    append(items("a", 4_001..<4_005), to: &queue)
    #expect(take(&queue) == items("a", 4_001..<4_005))
  }

  @Test func manyWithFewAreOneBatch() {
    var queue = Queue(share: 128, networkShare: 256, batchMax: 2_048)
    let all = (0..<8).flatMap { number in (0..<100).map { Item(author: "\($0)", number: number) } }
    append(all, to: &queue)
    #expect(take(&queue) == all)
    append(items("a", 0..<128) + items("b", 0..<1), to: &queue)
    #expect(take(&queue).count == 129)
    #expect(queue.isEmpty)
  }

  @Test func aBatchIsBounded() {
    var queue = Queue(share: 128, networkShare: 256, batchMax: 2_048)
    let all = (0..<30).flatMap { number in (0..<100).map { Item(author: "\($0)", number: number) } }
    append(all, to: &queue)
    #expect(take(&queue) == Array(all.prefix(2_048)))
    #expect(take(&queue) == Array(all.dropFirst(2_048)))
  }

  @Test func fewHeavyOnesAreAShare() {
    var queue = Queue(share: 128, networkShare: 256, batchMax: 2_048)
    let heavy = (0..<3).map { Item(author: "a", number: $0, weight: 60) }
    append(heavy + items("b", 0..<1), to: &queue)
    #expect(take(&queue) == Array(heavy.prefix(2)) + items("b", 0..<1))
    #expect(take(&queue) == Array(heavy.suffix(1)))
    // What is more than a share is taken alone.
    let huge = (0..<2).map { Item(author: "a", number: $0, weight: 500) }
    append(items("a", 7..<8) + huge + items("b", 1..<2), to: &queue)
    #expect(take(&queue) == items("a", 7..<8) + items("b", 1..<2))
    #expect(take(&queue) == Array(huge.prefix(1)))
    #expect(take(&queue) == Array(huge.suffix(1)))
  }

  /// Those who have many take turns in half of a batch; the other half is for those who come.
  @Test func manyWithManyHaveHalf() {
    var queue = Queue(share: 4, networkShare: 8, batchMax: 16)
    for author in ["a", "b", "c"] { append(items(author, 0..<100), to: &queue) }
    #expect(take(&queue) == items("a", 0..<4) + items("b", 0..<4) + items("c", 0..<4))
    let others = (0..<10).map { Item(author: "other\($0)", number: 0) }
    append(others, to: &queue)
    #expect(take(&queue) == items("a", 4..<8) + items("b", 4..<8) + Array(others.prefix(8)))
    #expect(take(&queue) == items("c", 4..<8) + items("a", 8..<12) + Array(others.suffix(2)))
    #expect(take(&queue) == items("b", 8..<12) + items("c", 8..<12))
    #expect(queue.count == 300 - 36)
  }

  @Test func whatEndsAnAccountWaitsForItsPostsAndForNobodyElses() {
    var queue = Queue(share: 4, networkShare: 8, batchMax: 16)
    append(items("a", 0..<6) + items("b", 0..<6) + items("operator", 0..<1), to: &queue)
    append(items("server", 0..<1) + items("a", 6..<7), to: &queue)
    #expect(take(&queue) == items("a", 0..<4) + items("b", 0..<4) + items("server", 0..<1))
    #expect(take(&queue) == items("a", 4..<6) + items("operator", 0..<1) + items("a", 6..<7) + items("b", 4..<6))
    #expect(queue.isEmpty)
  }

  /// What is left of an item comes before all that must come behind it, and not in the batch in which the item was taken.
  @Test func whatIsPutBackKeepsItsPlace() {
    var queue = Queue(share: 8, networkShare: 16, batchMax: 32)
    func part(_ number: Int, _ weight: Int) -> Item { Item(author: "a", number: number, weight: weight) }
    append([part(10, 32)] + items("a", 0..<2) + items("b", 0..<2), to: &queue)
    #expect(take(&queue) == [part(10, 32)] + items("b", 0..<2))
    queue.putBack([part(11, 32)], place: place)
    append(items("b", 2..<3), to: &queue)
    #expect(queue.count == 4)
    #expect(take(&queue) == [part(11, 32)] + items("b", 2..<3))
    queue.putBack([part(12, 3)], place: place)
    #expect(take(&queue) == [part(12, 3)] + items("a", 0..<2))
    #expect(queue.isEmpty)
    append([part(13, 32)] + items("operator", 0..<1), to: &queue)
    #expect(take(&queue) == [part(13, 32)])
    queue.putBack([part(14, 32)], place: place)
    #expect(take(&queue) == [part(14, 32)])
    queue.putBack([part(15, 3)], place: place)
    #expect(take(&queue) == [part(15, 3)] + items("operator", 0..<1))
    #expect(queue.isEmpty)
  }

  /// However many accounts a network has, it has one share while anybody else waits. It may fill a batch otherwise.
  @Test func aNetworkOfManyAccountsHoldsUpNobody() {
    var queue = Queue(share: 128, networkShare: 256, batchMax: 2_048)
    let flood = (0..<100).flatMap { items("n\($0)", 0..<100, in: "network") }
    append(flood + items("b", 0..<1), to: &queue)
    #expect(take(&queue) == Array(flood.prefix(256)) + items("b", 0..<1))
    // Its accounts have equal parts of the share.
    append(items("b", 1..<2), to: &queue)
    let parts = items("n2", 56..<58, in: "network") + (3..<100).flatMap { items("n\($0)", 0..<2, in: "network") }
    #expect(take(&queue) == parts + items("b", 1..<2))
    #expect(take(&queue).count == 2_048)
    append(items("b", 2..<3), to: &queue)
    let batch = take(&queue)
    #expect(batch.last == items("b", 2..<3).last && batch.count <= 257)
    // The network has more than that only while nobody else waits.
    append(items("n0", 100..<101, in: "network") + items("server", 0..<1), to: &queue)
    #expect(take(&queue).count <= 257)
  }

  @Test func networksTakeTurnsAndAccountsWithinThem() {
    var queue = Queue(share: 4, networkShare: 8, batchMax: 16)
    for author in ["a", "b", "c"] { append(items(author, 0..<100, in: "n"), to: &queue) }
    append(items("d", 0..<100, in: "m") + items("e", 0..<100), to: &queue)
    func n(_ author: String, _ numbers: Range<Int>) -> [Item] { items(author, numbers, in: "n") }
    func m(_ numbers: Range<Int>) -> [Item] { items("d", numbers, in: "m") }
    #expect(take(&queue) == n("a", 0..<4) + n("b", 0..<4) + m(0..<4) + items("e", 0..<4))
    #expect(take(&queue) == n("a", 4..<6) + n("b", 4..<6) + n("c", 0..<2) + m(4..<6) + items("e", 4..<8))
    #expect(take(&queue) == n("a", 6..<8) + n("b", 6..<8) + n("c", 2..<4) + m(6..<8))
    #expect(take(&queue) == items("e", 8..<12) + n("a", 8..<10) + n("b", 8..<10))
    // An account has one line, whatever networks it posts from.
    append(items("e", 100..<101, in: "m"), to: &queue)
    var left: [Item] = []
    while !queue.isEmpty { left += take(&queue) }
    #expect(left.filter { $0.author == "e" }.map(\.number) == Array(12..<101))
  }

  /// Whoever had no time in a batch gets the next turn before those who had.
  @Test func whoeverHadNoTurnIsTheNext() {
    var queue = Queue(share: 4, networkShare: 8, batchMax: 16)
    append(items("a", 0..<6, in: "n") + items("b", 0..<3, in: "n"), to: &queue)
    append(items("c", 0..<3) + items("d", 0..<6), to: &queue)
    let first = items("a", 0..<4, in: "n") + items("b", 0..<3, in: "n") + items("c", 0..<3) + items("d", 0..<4)
    #expect(take(&queue) == first)
    // The account a, and then its network, have used up their time, and then the batch.
    let left = items("a", 1..<4, in: "n") + items("b", 0..<3, in: "n") + items("d", 0..<4)
    queue.putBack(left, place: place, hasHadTurn: { ["a", "n", "c"].contains($0) })
    #expect(queue.count == 14)
    #expect(take(&queue) == items("d", 0..<4) + items("b", 0..<3, in: "n") + items("a", 1..<2, in: "n"))
    #expect(take(&queue) == items("d", 4..<6) + items("a", 2..<6, in: "n"))
    #expect(queue.isEmpty)
  }

  @Test func nothingIsLostOrOvertakesItsAccount() {
    var generator = Seeded(41)
    var queue = Queue(share: 16, networkShare: 32, batchMax: 64)
    var waiting: Set<Int> = []
    var (told, expected): ([String: [Int]], [String: [Int]]) = ([:], [:])
    func account(_ author: String) -> String { author == "operator" ? "a" : author }
    func takeSome() {
      let batch = take(&queue)
      #expect(batch.isEmpty == waiting.isEmpty && batch.count <= 64)
      // An account may have used up its time with its first item.
      let slow = ["a", "b", "none"].randomElement(using: &generator)
      let left = batch.filter { account($0.author) == slow }.dropFirst()
      let isLate = Bool.random(using: &generator)
      queue.putBack(Array(left), place: place, hasHadTurn: { _ in !isLate })
      var weights: [String: [Int]] = [:]
      for item in batch where !left.contains(item) {
        waiting.remove(item.number)
        told[account(item.author), default: []].append(item.number)
        weights[account(item.author), default: []].append(item.weight)
      }
      for (author, own) in weights where author != "server" {
        #expect(own.count == 1 || own.reduce(0, +) <= 16)
      }
      #expect(queue.count == waiting.count)
    }
    for number in 0..<6_000 {
      let kind = Int.random(in: 0..<60, using: &generator)
      let author =
        switch kind {
        case 0: "operator"
        case 1...3: "server"
        case 4...30: "a"
        case 31...40: "b"
        default: "other\(kind)"
        }
      let weight = author.count > 1 ? 1 : Int.random(in: 1...20, using: &generator)
      let network = [nil, "n", "m"].randomElement(using: &generator) ?? nil
      queue.append(Item(author: author, number: number, weight: weight, network: network))
      waiting.insert(number)
      expected[account(author), default: []].append(number)
      if Int.random(in: 0..<40, using: &generator) == 0 { takeSome() }
    }
    while !queue.isEmpty { takeSome() }
    #expect(waiting.isEmpty && told == expected)
  }
}
