import Addresses
import Basics
import Dialogs
import NIOCore
import Testing

@testable import XMPPDoor

/// The place of a stream in the outbox, and the proofs that rows were taken.
@Suite struct OutboxTests {
  private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
  private func at(_ number: Int64) -> Position { Position(number) }
  private func second(_ number: Int64) -> NIODeadline { start + .seconds(number) }

  // MARK: The cursor

  @Test func rowsAreReadAndThenFollowed() {
    var cursor = OutboxCursor(at: .zero)
    let early = cursor.arrived(at(3), lags: false)
    let reads = (cursor.read(), cursor.read())
    #expect(!early && reads == (true, false))
    cursor.told(through: at(3), isLast: false)
    let more = cursor.read()
    #expect(more)
    cursor.told(through: nil, isLast: true)
    #expect(cursor.state == .following && cursor.position == at(3))
    let live = [at(3), at(4), at(4)].map { cursor.arrived($0, lags: false) }
    #expect(live == [false, true, false] && cursor.position == at(4))
  }

  @Test func aRowThatComesWhileAPageIsReadIsReadBehindIt() {
    var cursor = OutboxCursor(at: .zero)
    _ = cursor.read()
    let early = cursor.arrived(at(5), lags: false)
    #expect(!early)
    cursor.told(through: nil, isLast: true)
    #expect(cursor.state == .behind && cursor.position == .zero)
  }

  @Test func aSlowStreamFallsBehind() {
    var cursor = OutboxCursor(at: .zero)
    _ = cursor.read()
    cursor.told(through: nil, isLast: true)
    let late = cursor.arrived(at(1), lags: true)
    let later = cursor.arrived(at(2), lags: false)
    #expect(!late && !later && cursor.state == .behind && cursor.position == .zero)
  }

  // MARK: Proofs

  @Test func acknowledgementsCountAllStanzas() {
    var ledger = RowLedger(.acknowledgements)
    ledger.wrote()
    let written = [ledger.wrote(at(7), at: start), ledger.wrote(at(9), at: start)]
    ledger.wrote()
    #expect(written == [nil, nil] && ledger.count == 2 && !ledger.needsBarrier(at: second(100)))
    let taken = [1, 1, 1, 1].map { ledger.acknowledged($0) }
    #expect(taken == [nil, at(7), at(9), nil] && ledger.count == 0 && ledger.deadline == nil)
  }

  @Test func moreAcknowledgementsThanStanzasReleaseNoMore() {
    var ledger = RowLedger(.acknowledgements)
    _ = ledger.wrote(at(1), at: start)
    let taken = ledger.acknowledged(1_000)
    _ = ledger.wrote(at(2), at: start)
    #expect(taken == at(1) && ledger.count == 1)
    let next = ledger.acknowledged(1)
    #expect(next == at(2))
  }

  @Test func aBarrierFollowsQuietOrManyRows() {
    var ledger = RowLedger(.barriers)
    #expect(ledger.deadline == nil)
    _ = ledger.wrote(at(1), at: start)
    #expect(ledger.deadline == start + .milliseconds(200) && !ledger.needsBarrier(at: start + .milliseconds(199)))
    #expect(ledger.needsBarrier(at: start + .milliseconds(200)))
    for number in 2...64 { _ = ledger.wrote(at(Int64(number)), at: start) }
    #expect(ledger.needsBarrier(at: start))
    ledger.wroteBarrier("a", at: start)
    _ = ledger.wrote(at(65), at: start)
    #expect(!ledger.needsBarrier(at: start))
    ledger.wroteBarrier("b", at: start)
    #expect(ledger.awaits("a") && !ledger.awaits("c"))
    // An answer to the second is one to the first: streams are handled in order.
    let taken = ledger.answered("b")
    #expect(taken == at(65) && ledger.count == 0 && !ledger.awaits("a"))
  }

  @Test func rowsWithoutAPauseGetABarrierInTime() {
    var ledger = RowLedger(.barriers)
    for number in 0..<10 { _ = ledger.wrote(at(Int64(number + 1)), at: start + .milliseconds(Int64(number) * 100)) }
    #expect(ledger.deadline == second(1) && !ledger.needsBarrier(at: start + .milliseconds(999)))
    #expect(ledger.needsBarrier(at: second(1)))
    ledger.wroteBarrier("a", at: second(1))
    _ = ledger.wrote(at(11), at: second(1))
    #expect(!ledger.needsBarrier(at: second(1)))
  }

  @Test func anUnansweredBarrierIsRepeated() {
    var ledger = RowLedger(.barriers)
    _ = ledger.wrote(at(1), at: start)
    ledger.wroteBarrier("a", at: start)
    #expect(ledger.deadline == second(5) && !ledger.needsBarrier(at: second(4)) && ledger.needsBarrier(at: second(5)))
    ledger.wroteBarrier("b", at: second(5))
    #expect(ledger.deadline == second(10))
    let taken = ledger.answered("b")
    #expect(taken == at(1) && ledger.deadline == nil)
  }

  @Test func aStreamWithoutAnySignIsDead() {
    var ledger = RowLedger(.barriers)
    _ = ledger.wrote(at(1), at: start)
    ledger.wroteBarrier("a", at: second(1))
    let early = ledger.expire(at: second(30), heardAt: nil)
    let late = ledger.expire(at: second(31), heardAt: start)
    #expect(early == .patience && late == .dead && ledger.unanswered == 0)
  }

  @Test func aDomainThatAnswersNoPingsTwiceGivesNoProof() {
    var first = RowLedger(.barriers)
    _ = first.wrote(at(1), at: start)
    first.wroteBarrier("a", at: start)
    let once = first.expire(at: second(30), heardAt: second(10))
    #expect(once == .dead && first.unanswered == 1)
    var second = RowLedger(.barriers, unanswered: first.unanswered)
    _ = second.wrote(at(1), at: self.second(40))
    second.wroteBarrier("b", at: self.second(40))
    let twice = second.expire(at: self.second(70), heardAt: self.second(50))
    #expect(twice == .taken(at(1)) && second.proof == .none)
    let next = second.wrote(at(2), at: self.second(71))
    #expect(next == at(2))
  }

  @Test func anAnswerForgivesAnUnansweredPing() {
    var ledger = RowLedger(.barriers, unanswered: 1)
    _ = ledger.wrote(at(1), at: start)
    ledger.wroteBarrier("a", at: start)
    _ = ledger.answered("a")
    #expect(ledger.unanswered == 0)
  }

  @Test func aDomainThatAcknowledgesNothingIsPinged() {
    var ledger = RowLedger(.acknowledgements)
    _ = ledger.wrote(at(1), at: start)
    #expect(ledger.deadline == second(30))
    let verdict = ledger.expire(at: second(30), heardAt: second(5))
    #expect(verdict == .patience && ledger.proof == .barriers && ledger.needsBarrier(at: second(30)))
    ledger.wroteBarrier("a", at: second(30))
    let taken = ledger.answered("a")
    #expect(taken == at(1))
  }

  @Test func rowsThatShowNothingGoWithThoseBeforeThem() {
    var ledger = RowLedger(.acknowledgements)
    let alone = ledger.skipped(at(1), at: start)
    _ = ledger.wrote(at(2), at: start)
    let behind = ledger.skipped(at(3), at: start)
    let taken = ledger.acknowledged(1)
    #expect(alone == at(1) && behind == nil && taken == at(3))
  }

  @Test func rowsThatWaitForTenSecondsAreNoticed() {
    var overdue = OverdueRows()
    #expect(overdue.deadline == nil)
    overdue.owed(through: at(3), at: start)
    overdue.owed(through: at(4), at: second(4))
    #expect(overdue.deadline == second(10))
    let early = overdue.look(taken: at(1), at: second(9))
    #expect(early == nil && overdue.deadline == second(10))
    // What was owed meanwhile is looked at the next time.
    let first = overdue.look(taken: at(1), at: second(10))
    #expect(first == at(3) && overdue.deadline == second(20))
    // All that was owed before was taken: nothing is due any more.
    let next = overdue.look(taken: at(4), at: second(20))
    #expect(next == nil && overdue.deadline == nil)
    overdue.owed(through: at(5), at: second(30))
    #expect(overdue.deadline == second(40))
    // What has been told is not looked at again.
    let last = overdue.look(taken: at(4), at: second(41))
    #expect(last == at(5) && overdue.deadline == nil)
  }

  @Test func onePostAtATimeRemovesWhatIsTaken() {
    var taken = TakenRows()
    var posts: [Position?] = []
    func take(_ numbers: Int64...) {
      for number in numbers { taken.took(at(number), isLast: true, at: start) }
      posts.append(taken.post(at: start))
    }
    take(1)
    take(2, 3)
    taken.posted()
    take(4)
    #expect(posts == [at(1), nil, at(4)] && taken.deadline == nil)
  }

  @Test func whileMoreRowsAreUnderWayTakenOnesAreRemovedTogether() {
    var taken = TakenRows()
    let due = start + FederationLimits.takenGathered
    taken.took(at(1), isLast: false, at: start)
    taken.took(at(2), isLast: false, at: due - .nanoseconds(1))
    #expect(taken.deadline == due)
    #expect(taken.post(at: due - .nanoseconds(1)) == nil)
    #expect(taken.post(at: due) == at(2))
    taken.posted()
    taken.took(at(3), isLast: false, at: due)
    taken.took(at(4), isLast: true, at: due)
    #expect(taken.post(at: due) == at(4))
  }

  // MARK: Live stanzas

  private var emptyQueue: LiveQueue { LiveQueue(to: "capulet.lit", WaitingBytes()) }

  private func probe(_ number: Int, id: String? = nil) throws -> LiveQueue.Item {
    .stanza(
      RelayedStanza(
        name: .presence("probe"), from: try person("romeo@montague.lit"), fromResource: nil,
        to: try BareJID("p\(number)@capulet.lit"), toResource: nil, id: id ?? "\(number)", extras: []))
  }

  private func ids(_ items: [LiveQueue.Item]) -> [String] {
    items.compactMap { if case .stanza(let stanza) = $0 { stanza.id } else { nil } }
  }

  @Test func liveStanzasStandBehindTheRowsBeforeThem() throws {
    var queue = emptyQueue
    for (number, after) in [(1, 0), (2, 5), (3, 9)] { _ = queue.append(try probe(number), after: at(Int64(after))) }
    let taken = [ids(queue.take(before: at(5))), ids(queue.take(before: at(6))), ids(queue.take(before: nil))]
    #expect(taken == [["1"], ["2"], ["3"]] && queue.isEmpty)
  }

  @Test func presenceStaysWhereRequestsFail() throws {
    var queue = emptyQueue
    for item in [try probe(1), .bytes([0]), try probe(2)] { _ = queue.append(item, after: .zero) }
    let failed = queue.takeRequests()
    #expect(failed.count == 1 && ids(failed) == [] && queue.hasPresence && !queue.hasRequests)
    let left = queue.take(before: nil)
    #expect(ids(left) == ["1", "2"])
  }

  /// Of available presence, of unavailable presence and of the questions for one only the last is of use, but to a resource: it may
  /// enter a room.
  @Test func ofPresenceTheLastWaits() throws {
    let memory = WaitingBytes()
    var queue = LiveQueue(to: "capulet.lit", memory)
    let (romeo, juliet) = (try person("romeo@montague.lit"), try BareJID("juliet@capulet.lit"))
    func shown(
      _ id: String, _ availability: Presence.Availability = .online, from resource: String = "orchard",
      to toResource: String? = nil
    ) -> LiveQueue.Item {
      .presence(
        Presence(
          from: romeo, resource: resource, availability: availability, id: id, toResource: toResource,
          time: Timestamp(milliseconds: 0)), to: juliet)
    }
    let items = [
      shown("1"), try probe(9), shown("2", from: "balcony"), shown("3", to: "nick"), shown("4"), shown("5", to: "nick"),
      try probe(9), shown("6", .offline), shown("7", .offline), shown("8", .away),
    ]
    for item in items { _ = queue.append(item, after: .zero) }
    let held = memory.bytes
    let left = queue.take(before: nil)
    let waited: [String?] = left.map { item in
      switch item {
      case .presence(let presence, _): presence.id
      case .stanza(let stanza): stanza.id
      case .bytes: nil
      }
    }
    // The last unavailable one stays before the available one that follows it: by it the author leaves a room.
    #expect(waited == ["2", "3", "5", "9", "7", "8"])
    #expect(held == left.reduce(0) { $0 + $1.byteCount } && memory.bytes == 0)
  }

  /// The same as a list from which what is replaced is removed, however much is taken at a time.
  @Test func whatReplacesOthersLeavesTheRestInOrder() throws {
    let memory = WaitingBytes()
    var queue = LiveQueue(to: "capulet.lit", memory)
    var expected: [(number: Int, id: String)] = []
    for step in 0..<2_000 {
      // Nineteen kinds, each of which is replaced again and again.
      let (number, id) = (step * step % 37, "\(step)")
      let isAdded = queue.append(try probe(number, id: id), after: .zero)
      #expect(isAdded)
      expected.removeAll { $0.number == number }
      expected.append((number, id))
      guard step % 5 == 4 else { continue }
      let taken = ids(queue.take(before: nil, most: 3))
      #expect(taken == expected.prefix(3).map { $0.id })
      expected.removeFirst(min(3, expected.count))
    }
    #expect(queue.hasPresence && !queue.hasRequests)
    let left = ids(queue.take(before: nil))
    #expect(left == expected.map { $0.id } && queue.isEmpty && !queue.hasPresence && memory.bytes == 0)
  }

  /// All links share the memory of what waits, and each author has a bound in it, as has a zone whose requests the server answers.
  @Test func allQueuesAreBoundedByAuthor() throws {
    let most = 2 * FederationLimits.waitingStanzaBytes + 100
    let memory = WaitingBytes(ownerBytesMax: most)
    var queues = (0..<3).map { LiveQueue(to: "s\($0).capulet.lit", memory) }
    let added = try (0..<3).map { queues[$0].append(try probe($0), after: .zero) }
    let answers = (0..<3).map { queues[$0].append(.bytes([0]), after: .zero) }
    #expect(added == [true, true, false] && answers == [true, true, false])
    let left = queues[0].takeRequests().count + queues[1].take(before: nil).count
    let again = [queues[2].append(try probe(2), after: .zero), queues[2].append(.bytes([0]), after: .zero)]
    #expect(left == 3 && again == [true, true])
    // At the bound the same question takes the place of the one before; a longer one fails, and that one stays.
    let (same, longer) = (try probe(2), try probe(2, id: String(repeating: "i", count: 200)))
    let replaced = [queues[2].append(same, after: .zero), queues[2].append(longer, after: .zero)]
    let kept = ids(queues[2].take(before: nil))
    #expect(replaced == [true, false] && kept == ["2"])
  }

  @Test func theQueueIsBounded() throws {
    var queue = emptyQueue
    let added = try (0...FederationLimits.waitingMax).map { queue.append(try probe($0), after: .zero) }
    #expect(added.count { $0 } == FederationLimits.waitingMax && !added[FederationLimits.waitingMax])
    var bytes = emptyQueue
    let large = LiveQueue.Item.bytes(
      Array(repeating: 0, count: FederationLimits.waitingBytesMax - FederationLimits.waitingStanzaBytes))
    let fits = bytes.append(large, after: .zero)
    let more = bytes.append(.bytes([0]), after: .zero)
    #expect(fits && !more)
    // The attributes of a stanza count like its children.
    var attributes = emptyQueue
    let text = String(repeating: "l", count: FederationLimits.waitingBytesMax)
    let from = try person("romeo@montague.lit")
    let to = try BareJID("juliet@capulet.lit")
    let tagged = RelayedStanza(
      name: .message(.headline), from: from, fromResource: nil, to: to, toResource: nil, id: nil, language: text,
      extras: [])
    let shown = Presence(
      from: from, resource: "orchard", availability: .online, id: text, time: Timestamp(milliseconds: 0))
    for item in [LiveQueue.Item.stanza(tagged), .presence(shown, to: to)] {
      let isAdded = attributes.append(item, after: .zero)
      #expect(!isAdded)
    }
  }

  @Test func requestsWaitForTheirAnswers() throws {
    func request(_ id: String, _ type: String = "get") throws -> RelayedStanza {
      RelayedStanza(
        name: .iq(type), from: try person("romeo@montague.lit"), fromResource: "orchard",
        to: try BareJID("capulet.lit"), toResource: nil, id: id, extras: [])
    }
    let memory = WaitingBytes()
    var requests = OpenRequests(memory)
    for (id, type) in [("1", "get"), ("2", "set"), ("3", "result"), ("4", "get")] {
      requests.sent(try request(id, type))
    }
    // Only the one who was asked answers.
    requests.answered("1", from: try JID("tybalt@capulet.lit"), to: try JID("romeo@montague.lit/orchard"))
    requests.answered("2", from: try JID("capulet.lit"), to: try JID("romeo@montague.lit/orchard"))
    let left = requests.takeAll().map(\.id)
    #expect(left == ["1", "4"] && requests.takeAll().isEmpty)
    for number in 0...FederationLimits.requestsMax { requests.sent(try request("\(number)")) }
    let kept = requests.takeAll()
    #expect(kept.count == FederationLimits.requestsMax && kept.first?.id == "1" && memory.bytes == 0)
  }
}
