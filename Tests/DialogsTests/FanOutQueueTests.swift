import Testing

@testable import Dialogs

/// What goes to many sessions is taken in slices: each session has its own in order, and the origins take turns.
@Suite struct FanOutQueueTests {
  private typealias Queue = FanOutQueue<String, Int>
  private let verona = FanOut.room(DialogID(1))
  private let mantua = FanOut.room(DialogID(2))

  /// Adds an item for each of the sessions. Returns those that it need not wait for.
  private func add(_ item: Int, to sessions: ClosedRange<UInt64>, of origin: FanOut?, _ queue: inout Queue) -> [UInt64]
  {
    sessions.filter { !queue.add(item, to: "\($0)", SessionID($0), of: origin) }
  }

  /// Takes a slice: each session with its items.
  private func take(_ most: Int, leaving max: Int = .max, _ queue: inout Queue) -> [String] {
    queue.take(most, leaving: max).map { "\($0.target): \([$0.first] + $0.rest)" }
  }

  @Test func aSessionHasItsDeliveriesInOrder() {
    var queue = Queue { _ in 1 }
    #expect(add(1, to: 1...3, of: verona, &queue) == [])
    // What belongs to no fan-out waits behind one, and nowhere else.
    #expect(add(2, to: 2...4, of: nil, &queue) == [4])
    // So does what belongs to another.
    #expect(add(3, to: 3...4, of: mantua, &queue) == [])
    #expect(queue.count == 7)
    #expect(take(100, &queue) == ["1: [1]", "2: [1, 2]", "3: [1, 2, 3]", "4: [3]"])
    #expect(queue.isEmpty)
    #expect(add(4, to: 2...2, of: nil, &queue) == [2])
  }

  @Test func originsTakeTurns() {
    var queue = Queue { _ in 1 }
    #expect(add(1, to: 1...10, of: verona, &queue) == [])
    #expect(add(2, to: 11...12, of: mantua, &queue) == [])
    #expect(take(3, &queue) == ["1: [1]", "2: [1]", "3: [1]"])
    // Those who have been served stand behind those who have not.
    #expect(add(3, to: 1...10, of: verona, &queue) == [])
    #expect(take(4, &queue) == ["11: [2]", "12: [2]", "4: [1, 3]"])
    #expect(take(5, &queue) == ["5: [1, 3]", "6: [1, 3]", "7: [1, 3]"])
    #expect(take(100, &queue) == ["8: [1, 3]", "9: [1, 3]", "10: [1, 3]", "1: [3]", "2: [3]", "3: [3]"])
    #expect(take(100, &queue) == [])
  }

  /// Others of the origin, and other origins, need not wait for all that one session has.
  @Test func aSessionWithMuchIsServedInPieces() {
    let piece = Limits.laneStep
    var queue = Queue { $0 }
    for _ in 1...(2 * piece) { #expect(add(1, to: 1...1, of: verona, &queue) == []) }
    #expect(add(2, to: 2...2, of: verona, &queue) == [])
    #expect(add(3, to: 3...3, of: mantua, &queue) == [])
    let ones = [Int](repeating: 1, count: piece)
    #expect(take(1, &queue) == ["1: \(ones)"])
    // What comes meanwhile stands behind the rest, and an item counts as what it weighs.
    #expect(add(piece, to: 1...1, of: nil, &queue) == [])
    #expect(add(5, to: 1...1, of: mantua, &queue) == [])
    #expect(take(5, &queue) == ["3: [3]", "2: [2]"])
    #expect(take(1, &queue) == ["1: \(ones)"])
    #expect(queue.count == 2)
    #expect(take(1, &queue) == ["1: [\(piece)]"])
    #expect(take(1, &queue) == ["1: [5]"])
    #expect(queue.isEmpty)
  }

  @Test func moreThanMayWaitIsTakenAtOnce() {
    var queue = Queue { _ in 1 }
    #expect(add(1, to: 1...10, of: verona, &queue) == [])
    #expect(take(2, leaving: 8, &queue).count == 2)
    #expect(take(2, leaving: 3, &queue).count == 5)
    #expect(queue.count == 3)
  }

  /// The same as a list of items for each session, from which nothing overtakes anything.
  @Test func nothingIsLostOrOvertakenInAnyOrderOfEvents() {
    var generator = Seeded(37)
    var queue = Queue { _ in 1 }
    var (told, expected): ([UInt64: [Int]], [UInt64: [Int]]) = ([:], [:])
    for item in 0..<3_000 {
      let first = UInt64.random(in: 1...40, using: &generator)
      switch Int.random(in: 0..<4, using: &generator) {
      case 0:
        let origin = Bool.random(using: &generator) ? verona : mantua
        let sessions = first...(first + UInt64.random(in: 0...20, using: &generator))
        for session in sessions { expected[session, default: []].append(item) }
        #expect(add(item, to: sessions, of: origin, &queue) == [])
      case 1:
        expected[first, default: []].append(item)
        for session in add(item, to: first...first, of: nil, &queue) { told[session, default: []].append(item) }
      default:
        let before = queue.count
        var left = 7
        for turn in queue.take(7, leaving: .max) {
          #expect(left > 0)
          left -= 1 + turn.rest.count
          told[UInt64(turn.target) ?? 0, default: []] += [turn.first] + turn.rest
        }
        #expect(before - queue.count == 7 - left)
      }
    }
    for turn in queue.take(.max, leaving: 0) { told[UInt64(turn.target) ?? 0, default: []] += [turn.first] + turn.rest }
    #expect(told == expected)
    #expect(queue.isEmpty)
  }

  @Test func aQueueGivesItsElementsInOrder() {
    var queue = FIFO<Int>()
    var (next, taken) = (0, 0)
    for count in [1, 200, 3, 70, 64] {
      for _ in 0..<count {
        queue.append(next)
        next += 1
      }
      for _ in 0..<(count / 2) {
        #expect(queue.popFirst() == taken)
        taken += 1
      }
    }
    while let element = queue.popFirst() {
      #expect(element == taken)
      taken += 1
    }
    #expect(taken == next && queue.isEmpty)
  }
}
