import Addresses
import Basics
import Synchronization
import Testing

@testable import Dialogs

/// A lane serves others between two slices of what goes to many.
@Suite struct LaneTests {
  /// An event loop that runs by hand.
  private final class Loop: Sendable {
    private let executed = Mutex<[@Sendable () -> Void]>([])
    private let paused = Mutex<[@Sendable () -> Void]>([])

    private let clock = Mutex(ContinuousClock.now)
    private let passing: Duration

    /// - Parameter passing: The time that passes after each look at the clock.
    init(passing: Duration = .zero) { self.passing = passing }

    var pauses: Int { paused.withLock { $0.count } }

    func lane(
      waitingMax: Int = Limits.laneWaitingMax, takenApartMax: Int = Limits.laneTakenApartMax
    ) -> Lane {
      Lane(
        schedule: { [self] body in executed.withLock { $0.append(body) } },
        pause: { [self] body in paused.withLock { $0.append(body) } },
        waitingMax: waitingMax, takenApartMax: takenApartMax
      ) { [self] in
        clock.withLock { now in
          defer { now += passing }
          return now
        }
      }
    }

    func run() { Self.run(executed) }
    func endPauses() { Self.run(paused) }

    private static func run(_ bodies: borrowing Mutex<[@Sendable () -> Void]>) {
      let taken = bodies.withLock { bodies in
        defer { bodies = [] }
        return bodies
      }
      for body in taken { body() }
    }
  }

  private final class Notes: Sendable {
    private let lines = Mutex<[String]>([])
    func note(_ line: String) { lines.withLock { $0.append(line) } }
    /// Returns the lines since the last call.
    func taken() -> [String] {
      lines.withLock { lines in
        defer { lines = [] }
        return lines
      }
    }
  }

  private final class Listener: LiveSession {
    let id: SessionID
    let party: Party
    let lane: Lane
    private let notes: Notes

    init(_ number: UInt64, _ lane: Lane, _ notes: Notes, of user: Int64? = nil) {
      id = SessionID(number)
      party = Party(id: UserID(user ?? Int64(number)), realm: RealmID(1), address: .nowhere)
      (self.lane, self.notes) = (lane, notes)
    }

    func receive(_ delivery: Delivery) {
      if case .signal(.closed(let reason), _) = delivery { return notes.note("\(id.number): \(reason.rawValue)") }
      if case .signal(.shown(_, let addresses), _) = delivery {
        return notes.note("\(id.number): to \(addresses.count)")
      }
      guard case .outcome(let token, _) = delivery else { return }
      notes.note("\(id.number): \(token)")
    }
    func batchEnded() { notes.note("\(id.number) written") }
  }

  private func delivery(_ token: UInt64) -> Delivery { .outcome(token: token, .failure(.storage)) }

  private func spread(
    _ token: UInt64, to sessions: [Listener], in room: DialogID = DialogID(1), except left: SessionID? = nil,
    counting load: FanOutLoad? = nil
  ) {
    var hearing = Audiences.RecipientSet()
    for session in sessions {
      hearing.put(Audiences.Recipient(session: session, user: session.party.id, seesAddresses: false))
    }
    var batch = LaneBatch(load)
    batch.spread(room, to: hearing, of: sessions.count) { [delivery = delivery(token)] recipient in
      recipient.session.id == left ? nil : delivery
    }
    batch.send()
  }

  private func lines(_ numbers: ClosedRange<Int>, _ tokens: UInt64...) -> [String] {
    numbers.flatMap { number in tokens.map { "\(number): \($0)" } + ["\(number) written"] }
  }

  @Test func othersAreServedBetweenTwoSlices() {
    let (loop, notes) = (Loop(), Notes())
    let lane = loop.lane()
    let sessions = (1...600).map { Listener($0, lane, notes) }
    let outsider = Listener(1_000, lane, notes)
    spread(1, to: sessions)
    lane.deliver(delivery(7), to: outsider)
    loop.run()
    #expect(notes.taken() == ["1000: 7", "1000 written"] + lines(1...256, 1))
    #expect(loop.pauses == 1)

    // In the pause others are served at once; who still waits is served in order.
    lane.deliver(delivery(8), to: outsider)
    lane.deliver(delivery(8), to: sessions[599])
    lane.deliver(delivery(8), to: sessions[0])
    loop.run()
    #expect(notes.taken() == ["1000: 8", "1: 8", "1000 written", "1 written"])
    spread(2, to: sessions)
    loop.run()
    #expect(notes.taken() == [])
    #expect(loop.pauses == 1)

    // 128 sessions have two each, which are written together.
    loop.endPauses()
    #expect(notes.taken() == lines(257...384, 1, 2))
    loop.endPauses()
    #expect(notes.taken() == lines(385...512, 1, 2))
    loop.endPauses()
    #expect(notes.taken() == lines(513...599, 1, 2) + lines(600...600, 1, 8, 2) + lines(1...79, 2))
    loop.endPauses()
    #expect(notes.taken() == lines(80...256, 2))
    #expect(loop.pauses == 0)
  }

  /// A session whose login was revoked ends at once, however much waits for it.
  @Test func aRevokedSessionDoesNotWait() {
    let (loop, notes) = (Loop(), Notes())
    let lane = loop.lane()
    let sessions = (1...600).map { Listener($0, lane, notes) }
    spread(1, to: sessions)
    loop.run()
    _ = notes.taken()
    let reasons: [CloseReason] = [.ended, .passwordChanged, .revoked, .replaced]
    for (session, reason) in zip(sessions.suffix(4), reasons) {
      lane.deliver(.signal(.closed(reason), .direct), to: session)
    }
    loop.run()
    let ended = ["597: ended", "598: passwordChanged", "599: revoked"]
    #expect(notes.taken() == ended + ["597 written", "598 written", "599 written"])
    loop.endPauses()
    loop.endPauses()
    #expect(notes.taken() == lines(257...599, 1) + ["600: 1", "600: replaced", "600 written"])
  }

  /// A fan-out that is no more than a slice is not held back, nor are some of few.
  @Test func aSliceIsDeliveredAtOnce() {
    let (loop, notes) = (Loop(), Notes())
    let lane = loop.lane()
    let sessions = (1...256).map { Listener($0, lane, notes) }
    spread(1, to: sessions)
    loop.run()
    #expect(Set(notes.taken()) == Set(lines(1...256, 1)))
    for token: UInt64 in 2...5 { spread(token, to: Array(sessions[0..<63])) }
    loop.run()
    #expect(notes.taken().filter { !$0.hasSuffix("written") }.count == 252)
    #expect(loop.pauses == 0)
  }

  /// Deliveries that take long make a slice shorter, and then also those that would be made at once.
  @Test func aSliceEndsAfterItsTime() {
    let (loop, notes) = (Loop(passing: Limits.laneSliceTime * 2 / 5), Notes())
    let lane = loop.lane()
    let sessions = (1...300).map { Listener($0, lane, notes) }
    spread(1, to: sessions)
    loop.run()
    #expect(notes.taken() == lines(1...96, 1), "three steps, and then the time is over")
    while loop.pauses > 0 { loop.endPauses() }
    #expect(notes.taken() == lines(97...300, 1))
    spread(2, to: Array(sessions.prefix(250)))
    loop.run()
    #expect(notes.taken() == lines(1...96, 2))
    while loop.pauses > 0 { loop.endPauses() }
    #expect(notes.taken() == lines(97...250, 2))
    spread(3, to: Array(sessions.prefix(Limits.laneStep)))
    loop.run()
    #expect(loop.pauses == 0)
    #expect(notes.taken().filter { !$0.hasSuffix("written") }.count == Limits.laneStep)
  }

  /// Somebody who comes to thousands of rooms with few in each of them, or goes, reaches as many as in a large one.
  @Test func manyRoomsWithFewAreServedInSlices() {
    let (loop, notes) = (Loop(), Notes())
    let lane = loop.lane(waitingMax: 1_000, takenApartMax: 500)
    let sessions = (1...630).map { Listener($0, lane, notes) }
    let outsider = Listener(1_000, lane, notes)
    for token: UInt64 in 1...2 {
      for room in 0..<10 {
        spread(token, to: Array(sessions[(63 * room)..<(63 * room + 63)]), in: DialogID(Int64(room + 1)))
      }
    }
    loop.run()
    var heard: [String] = []
    func step() -> Int {
      let step = notes.taken().filter { !$0.hasSuffix("written") }
      heard += step
      return step.count
    }
    // What needs not wait, and a slice.
    #expect(step() <= 2 * Limits.laneSlice && loop.pauses == 1)
    lane.deliver(delivery(7), to: outsider)
    lane.deliver(delivery(3), to: sessions[629])
    spread(8, to: [outsider], in: DialogID(11))
    loop.run()
    #expect(notes.taken() == ["1000: 7", "1000: 8", "1000 written", "1000 written"])
    while loop.pauses > 0 {
      loop.endPauses()
      #expect(step() <= Limits.laneSlice + 3)
    }
    #expect(heard.count == 2 * 630 + 1)
    for number in 1...630 {
      let own = heard.filter { $0.hasPrefix("\(number): ") }
      #expect(own == (number == 630 ? [1, 2, 3] : [1, 2]).map { "\(number): \($0)" })
    }
  }

  /// Many messages to a user with many sessions are as many deliveries as those of a large room.
  @Test func manyDeliveriesToOneUserAreMadeInSlices() {
    let (loop, notes) = (Loop(), Notes())
    let lane = loop.lane()
    let sessions = (1...16).map { Listener($0, lane, notes, of: 1) }
    let outsider = Listener(1_000, lane, notes)
    for token: UInt64 in 1...40 {
      for session in sessions { lane.deliver(delivery(token), to: session) }
    }
    lane.deliver(delivery(7), to: outsider)
    lane.deliver(.signal(.closed(.revoked), .direct), to: sessions[15])
    loop.run()
    // A slice at once, and the end of a login with it; then a slice of 24 for each of eleven sessions, in which the outsider has a turn.
    var heard = notes.taken().filter { !$0.hasSuffix("written") }
    #expect(heard.count == 256 + 1 + 11 * 24 + 1 && loop.pauses == 1)
    #expect(heard.firstIndex(of: "16: revoked") == 256)
    #expect(heard.firstIndex(of: "1000: 7") == 256 + 1 + 2 * 24)
    lane.deliver(delivery(41), to: sessions[0])
    lane.deliver(delivery(41), to: sessions[15])
    loop.run()
    #expect(notes.taken() == ["1: 41", "1 written"])
    while loop.pauses > 0 { loop.endPauses() }
    heard += notes.taken().filter { !$0.hasSuffix("written") }
    for number in 1...16 {
      let own = heard.filter { $0.hasPrefix("\(number): ") && !$0.hasSuffix("revoked") }
      #expect(own == (1...(number == 16 ? 41 : 40)).map { "\(number): \($0)" })
    }
  }

  @Test func notEverybodyGetsOneOfAFanOut() {
    let (loop, notes) = (Loop(), Notes())
    let lane = loop.lane()
    let sessions = (1...300).map { Listener($0, lane, notes) }
    spread(1, to: sessions, except: SessionID(7))
    loop.run()
    #expect(notes.taken() == lines(1...6, 1) + lines(8...257, 1))
    loop.endPauses()
    #expect(notes.taken() == lines(258...300, 1))
    spread(2, to: Array(sessions[0..<10]), except: SessionID(7))
    loop.run()
    #expect(notes.taken().filter { !$0.hasSuffix("written") } == [1, 2, 3, 4, 5, 6, 8, 9, 10].map { "\($0): 2" })
  }

  /// What a user shows to many contacts is a fan-out as well.
  @Test func presenceToManyIsDeliveredInSlices() {
    let (loop, notes) = (Loop(), Notes())
    let lane = loop.lane()
    let sessions = (1...300).map { Listener($0, lane, notes) }
    var batch = LaneBatch()
    batch.spread(.user(UserID(1)), to: sessions.count) { batch in
      for session in sessions { batch.add(delivery(1), to: session) }
    }
    #expect(batch.fanOutCount == 300)
    batch.send()
    loop.run()
    #expect(notes.taken() == lines(1...256, 1))
    loop.endPauses()
    #expect(notes.taken() == lines(257...300, 1))
  }

  /// Recipients who are not there cost a look each.
  @Test func whoIsLookedForInVainCounts() {
    let (loop, notes) = (Loop(), Notes())
    let session = Listener(1, loop.lane(), notes)
    var batch = LaneBatch()
    batch.spread(.user(UserID(1)), to: 300) { $0.add(delivery(1), to: session) }
    #expect(batch.fanOutCount == 300)
    batch.spread(.user(UserID(1)), to: Limits.fanOutMin) { _ in }
    #expect(batch.fanOutCount == 300 + Limits.fanOutMin)
    batch.spread(.user(UserID(1)), to: Limits.fanOutMin - 1) { _ in }
    #expect(batch.fanOutCount == 300 + Limits.fanOutMin)
    batch.send()
  }

  /// The link to another server has a list of addresses at a time, and others are served between two slices of all.
  @Test func presenceToManyBehindOneLinkIsDeliveredInSlices() {
    let (loop, notes) = (Loop(), Notes())
    let lane = loop.lane()
    let (link, outsider) = (Listener(1, lane, notes), Listener(1_000, lane, notes))
    let presence = Presence(
      from: outsider.party, resource: "orchard", availability: .online, time: Timestamp(milliseconds: 0))
    var batch = LaneBatch()
    batch.spread(.user(UserID(1)), to: 1_000) { batch in
      batch.add([BareJID](repeating: .nowhere, count: 1_000), behind: link) { .shown(presence, to: $0) }
    }
    #expect(batch.fanOutCount == 1_000)
    batch.send()
    loop.run()
    let slice = Array(repeating: ["1: to 32", "1 written"], count: 8).flatMap { $0 }
    #expect(notes.taken() == slice)
    // What is for the link waits behind it, what is for others does not.
    lane.deliver(delivery(7), to: link)
    lane.deliver(delivery(7), to: outsider)
    loop.run()
    #expect(notes.taken() == ["1000: 7", "1000 written"])
    for _ in 2...3 {
      loop.endPauses()
      #expect(notes.taken() == slice)
    }
    loop.endPauses()
    #expect(notes.taken() == Array(slice.prefix(14)) + ["1: to 8", "1: 7", "1 written"])
    #expect(loop.pauses == 0)
  }

  /// One act may make more deliveries than may wait, such as a hundred bans in a large room. They are made in slices, too.
  @Test func moreThanMayWaitIsDeliveredInSlices() {
    let (loop, notes) = (Loop(), Notes())
    let lane = loop.lane(waitingMax: 850, takenApartMax: 600)
    let sessions = (1...600).map { Listener($0, lane, notes) }
    let outsider = Listener(1_000, lane, notes)
    for token: UInt64 in 1...10 { spread(token, to: sessions) }
    loop.run()
    #expect(notes.taken() == lines(1...256, 1))
    // Who hears nothing of the room is served at once, also by rooms with few sessions; its people in order.
    lane.deliver(delivery(70), to: outsider)
    lane.deliver(delivery(71), to: sessions[0])
    spread(72, to: [outsider, sessions[1]], in: DialogID(2))
    loop.run()
    #expect(notes.taken() == ["1000: 70", "1000: 72", "1000 written", "1000 written"])
    var heard: [String] = []
    while loop.pauses > 0 {
      loop.endPauses()
      let step = notes.taken().filter { !$0.hasSuffix("written") }
      #expect(step.count <= Limits.laneSlice + 10)
      heard += step
    }
    #expect(heard.count == 10 * 600 - 256 + 2)
    for number in [1, 2, 256, 257, 600] {
      let own = heard.filter { $0.hasPrefix("\(number): ") }
      let further = number == 1 ? ["1: 71"] : number == 2 ? ["2: 72"] : []
      let tokens = (number <= 256 ? 2 : 1)...10
      #expect(own == tokens.map { "\(number): \($0)" } + further)
    }
  }

  @Test func whatIsNotTakenApartIsCounted() {
    let (loop, notes, load) = (Loop(), Notes(), FanOutLoad())
    let lane = loop.lane(waitingMax: 850, takenApartMax: 600)
    let sessions = (1...600).map { Listener($0, lane, notes) }
    for token: UInt64 in 1...4 { spread(token, to: sessions, counting: load) }
    spread(5, to: Array(sessions.prefix(10)), counting: load)
    #expect(load.total == 4 * 600)
    loop.run()
    #expect(load.total == 3 * 600)
    while loop.pauses > 0 { loop.endPauses() }
    #expect(load.total == 0)
    // A slice is delivered at once.
    spread(6, to: Array(sessions.prefix(Limits.fanOutMin)), counting: load)
    #expect(load.total == Limits.fanOutMin)
    loop.run()
    #expect(load.total == 0)
  }

  /// What a large room is sent is counted for the author of the post that it belongs to: the next that is settled.
  @Test func whatIsNotTakenApartIsOfItsAuthor() {
    let (loop, notes, load) = (Loop(), Notes(), FanOutLoad(bound: 10))
    let lane = loop.lane()
    var hearing = Audiences.RecipientSet()
    for number: UInt64 in 1...100 {
      let session = Listener(number, lane, notes)
      hearing.put(Audiences.Recipient(session: session, user: session.party.id, seesAddresses: false))
    }
    let authors = (1...3).map { BareJID(parsing: "p\($0)@localhost") ?? .nowhere }
    let effects: [Effect] = authors.prefix(2).map { author in
      let party = Party(id: UserID(1), realm: RealmID(1), address: author)
      return .settled(Post(author: party, intent: .endTyping, completion: .none), .failure(.storage))
    }
    var batch = LaneBatch(load)
    batch.effects = effects[...]
    batch.spread(DialogID(1), to: hearing, of: hearing.count) { _ in nil }
    #expect(load.total == 100 && authors.map { load.isBeyondShare($0) } == [true, false, false])
    batch.postEnded()
    batch.effects = effects[1...]
    batch.spread(DialogID(1), to: hearing, of: hearing.count) { _ in nil }
    #expect(load.total == 200 && authors.map { load.isBeyondShare($0) } == [true, true, false])
    batch.send()
    loop.run()
    #expect(load.total == 0)
  }

  /// Whatever arrives, and however large it is: nothing is lost, and nothing overtakes what is for the same session.
  @Test func eachSessionHasItsOwnInOrder() {
    var generator = Seeded(38)
    let (loop, notes) = (Loop(), Notes())
    let lane = loop.lane(waitingMax: 700, takenApartMax: 200)
    let sessions = (1...400).map { Listener($0, lane, notes) }
    var expected: [UInt64: [UInt64]] = [:]
    for token: UInt64 in 1...500 {
      let first = Int.random(in: 0..<300, using: &generator)
      let room = DialogID(Int64.random(in: 1...3, using: &generator))
      switch Int.random(in: 0..<6, using: &generator) {
      case 0, 1:
        let hearing = Array(sessions[first..<min(400, first + Int.random(in: 64...300, using: &generator))])
        spread(token, to: hearing, in: room)
        for session in hearing { expected[session.id.number, default: []].append(token) }
      case 2:
        let hearing = Array(sessions[first..<(first + 20)])
        spread(token, to: hearing, in: room)
        for session in hearing { expected[session.id.number, default: []].append(token) }
      case 3, 4:
        for session in sessions[first..<(first + (Bool.random(using: &generator) ? 1 : 100))] {
          lane.deliver(delivery(token), to: session)
          expected[session.id.number, default: []].append(token)
        }
      default:
        loop.run()
        if Bool.random(using: &generator) { loop.endPauses() }
      }
    }
    loop.run()
    while loop.pauses > 0 { loop.endPauses() }
    var told: [UInt64: [UInt64]] = [:]
    for line in notes.taken() where !line.hasSuffix("written") {
      let words = line.split(separator: ": ")
      if let session = UInt64(words[0]), let token = UInt64(words[1]) { told[session, default: []].append(token) }
    }
    #expect(told == expected)
  }

  /// The same with a room that people enter and leave, while its deliveries wait.
  @Test func eachSessionHasItsOwnInOrderThoughItLeaves() {
    var generator = Seeded(37)
    let (loop, notes) = (Loop(), Notes())
    let lane = loop.lane(waitingMax: 700, takenApartMax: 200)
    let sessions = (1...400).map { Listener($0, lane, notes) }
    var hearing = Audiences.RecipientSet()
    var present: Set<Int> = []
    func come(_ index: Int) {
      hearing.put(Audiences.Recipient(session: sessions[index], user: sessions[index].party.id, seesAddresses: false))
      present.insert(index)
    }
    for index in 0..<300 { come(index) }
    var expected: [UInt64: [UInt64]] = [:]
    for token: UInt64 in 1...600 {
      let index = Int.random(in: 0..<400, using: &generator)
      switch Int.random(in: 0..<5, using: &generator) {
      case 0, 1:
        if present.remove(index) != nil { hearing.remove(sessions[index].id) } else { come(index) }
        var batch = LaneBatch()
        batch.spread(DialogID(1), to: hearing, of: hearing.count) { [delivery = delivery(token)] _ in delivery }
        batch.send()
        for index in present { expected[sessions[index].id.number, default: []].append(token) }
      case 2, 3:
        lane.deliver(delivery(token), to: sessions[index])
        expected[sessions[index].id.number, default: []].append(token)
      default:
        loop.run()
        if Bool.random(using: &generator) { loop.endPauses() }
      }
    }
    loop.run()
    while loop.pauses > 0 { loop.endPauses() }
    var heard: [UInt64: [UInt64]] = [:]
    for line in notes.taken() where !line.hasSuffix("written") {
      let words = line.split(separator: ": ")
      if let session = UInt64(words[0]), let token = UInt64(words[1]) { heard[session, default: []].append(token) }
    }
    #expect(heard == expected)
  }

  /// However much arrives at once, no more deliveries are made than may wait.
  @Test func noMoreIsMadeThanMayWait() {
    final class Counter: Sendable {
      private let numbers = Mutex((waiting: 0, most: 0, isOrdered: true))
      var waiting: Int { numbers.withLock { $0.waiting } }
      var most: Int { numbers.withLock { $0.most } }
      var isOrdered: Bool { numbers.withLock { $0.isOrdered } }
      func made() {
        numbers.withLock { numbers in
          numbers.waiting += 1
          numbers.most = max(numbers.most, numbers.waiting)
        }
      }
      func received(inOrder: Bool) {
        numbers.withLock { numbers in
          numbers.waiting -= 1
          numbers.isOrdered = numbers.isOrdered && inOrder
        }
      }
    }
    final class Member: LiveSession {
      let id: SessionID
      let party: Party
      let lane: Lane
      private let counter: Counter
      private let last = Mutex<UInt64>(0)
      init(_ number: Int, _ lane: Lane, _ counter: Counter) {
        id = SessionID(UInt64(number))
        party = Party(id: UserID(Int64(number)), realm: RealmID(1), address: .nowhere)
        (self.lane, self.counter) = (lane, counter)
      }
      func receive(_ delivery: Delivery) {
        guard case .outcome(let token, _) = delivery else { return }
        let before = last.withLock { last in
          defer { last = token }
          return last
        }
        counter.received(inOrder: token == before + 1)
      }
      func batchEnded() {}
    }
    let (loop, counter) = (Loop(), Counter())
    let lane = loop.lane()
    var hearing = Audiences.RecipientSet()
    for number in 1...1_000 {
      let member = Member(number, lane, counter)
      hearing.put(Audiences.Recipient(session: member, user: member.party.id, seesAddresses: false))
    }
    for token in 1...(Limits.laneWaitingMax / 1_000 + 100) {
      var batch = LaneBatch()
      batch.spread(DialogID(1), to: hearing, of: 1_000) { [delivery = delivery(UInt64(token))] _ in
        counter.made()
        return delivery
      }
      batch.send()
    }
    loop.run()
    while loop.pauses > 0 { loop.endPauses() }
    #expect(counter.most > Limits.laneWaitingMax - 1_000 && counter.most <= Limits.laneWaitingMax)
    #expect(counter.waiting == 0 && counter.isOrdered)
  }

  @Test func everythingIsDeliveredAtTheEnd() {
    let (loop, notes) = (Loop(), Notes())
    let lane = loop.lane()
    let sessions = (1...600).map { Listener($0, lane, notes) }
    spread(1, to: sessions)
    loop.run()
    _ = notes.taken()
    lane.deliver(delivery(2), to: sessions[599])
    lane.finish()
    #expect(notes.taken() == lines(257...599, 1) + lines(600...600, 1, 2))
    let few = loop.lane(waitingMax: 700, takenApartMax: 600)
    let others = (1...600).map { Listener($0, few, notes) }
    for token: UInt64 in 1...3 { spread(token, to: others) }
    few.finish()
    #expect(notes.taken().filter { $0.hasPrefix("600: ") } == ["600: 1", "600: 2", "600: 3"])
    loop.endPauses()
    loop.run()
    #expect(notes.taken() == [])
  }
}
