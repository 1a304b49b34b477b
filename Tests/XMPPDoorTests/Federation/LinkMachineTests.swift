import NIOCore
import Testing
import XMPP

@testable import XMPPDoor

/// The life of a link, with a clock by hand.
@Suite struct LinkMachineTests {
  private typealias Machine = LinkMachine
  private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
  private static let idle = TimeAmount.minutes(30)
  private static let soft = OpenFailure(isFinal: false, reason: "it does not answer")
  private static let final = OpenFailure(isFinal: true, reason: "there is no such domain")
  private static let stopping = OpenFailure(isFinal: false, reason: "this server is being stopped")

  /// Feeds a new machine events, a second apart each, with no spread of pauses.
  private static func machine(_ events: Machine.Event...) -> Machine {
    var machine = Machine(idle: idle, absence: .minutes(5), at: start)
    for event in events { _ = machine.handle(event, at: start, random: 0.5) }
    return machine
  }

  private static let states: [(name: String, machine: Machine)] = [
    ("idle", machine()),
    ("queued", machine(.owed)),
    ("opening", machine(.owed, .slot)),
    ("open", machine(.owed, .slot, .opened)),
    ("backing off", machine(.owed, .slot, .failed(soft))),
    ("final", machine(.owed, .slot, .failed(final))),
    ("stopped", machine(.stop)),
  ]

  private static let events: [(name: String, event: Machine.Event)] = [
    ("owed", .owed), ("live", .live), ("slot", .slot), ("opened", .opened), ("failed", .failed(soft)),
    ("final", .failed(final)), ("closed", .closed), ("lost", .lost), ("ended", .ended), ("denied", .denied),
    ("theirs", .theirs), ("retry", .retry), ("used", .used), ("yield", .yield), ("presence", .presence),
    ("settled", .settled), ("tick", .tick), ("stop", .stop),
  ]

  /// What an event leads to, where it is not ignored: the phase, and the actions.
  private static let effects: [String: (phase: Machine.Phase, actions: [Machine.Action])] = {
    let open = Machine.Phase.open(since: start)
    let five = start + .seconds(5)
    let backingOff = Machine.Phase.backingOff(until: five, soft)
    let ended = Machine.Phase.backingOff(until: five, final)
    return [
      "idle owed": (.queued, [.queue]),
      "idle live": (.queued, [.queue]),
      "idle presence": (.queued, [.queue]),
      "idle opened": (open, [.send]),
      "idle stop": (.stopped, []),
      "queued denied": (.idle, [.withdraw]),
      "queued slot": (.opening, [.open]),
      "queued opened": (open, [.withdraw, .send]),
      "queued stop": (.stopped, [.withdraw]),
      "opening opened": (open, [.send]),
      "opening failed": (backingOff, [.record(failures: 1, next: .seconds(5), soft)]),
      "opening final": (ended, [.bounce(final), .record(failures: 1, next: .seconds(5), final)]),
      "opening denied": (.idle, [.withdraw]),
      "opening stop": (.stopped, []),
      "open owed": (open, [.send]),
      "open live": (open, [.send]),
      "open presence": (open, [.send]),
      "open closed": (.queued, [.queue]),
      "open lost": (.queued, [.queue]),
      "open ended": (.queued, [.queue]),
      "open denied": (.idle, []),
      "backing off live": (backingOff, [.refuse(soft)]),
      "backing off presence": (backingOff, [.refuse(soft)]),
      "backing off opened": (open, [.recover, .send]),
      "backing off theirs": (.queued, [.queue]),
      "backing off retry": (.queued, [.queue]),
      "backing off denied": (.idle, []),
      "backing off stop": (.stopped, []),
      "final owed": (ended, [.bounce(final)]),
      "final live": (ended, [.refuse(final)]),
      "final presence": (ended, [.refuse(final)]),
      "final opened": (open, [.recover, .send]),
      "final theirs": (.idle, []),
      "final retry": (.idle, []),
      "final denied": (.idle, []),
      "final stop": (.stopped, []),
      "final yield": (.idle, []),
      "stopped live": (.stopped, [.refuse(stopping)]),
      "stopped presence": (.stopped, [.refuse(stopping)]),
    ]
  }()

  @Test func eachEventInEachState() {
    for state in Self.states {
      for event in Self.events {
        var machine = state.machine
        let actions = machine.handle(event.event, at: Self.start, random: 0.5)
        let expected = Self.effects["\(state.name) \(event.name)"] ?? (state.machine.phase, [])
        #expect(machine.phase == expected.phase, "\(state.name) \(event.name)")
        #expect(actions == expected.actions, "\(state.name) \(event.name)")
      }
    }
  }

  @Test func pausesDoubleToTenMinutesAndSpread() {
    let pauses = (1...9).map { Machine.pause(after: $0, random: 0.5) }
    #expect(pauses == [5, 10, 20, 40, 80, 160, 320, 600, 600].map { .seconds($0) })
    #expect(Machine.pause(after: 1, random: 0) == .seconds(4) && Machine.pause(after: 1, random: 1) == .seconds(6))
    #expect(Machine.pause(after: 1_000, random: 1) == .seconds(720))
  }

  @Test func theLadderGoesOnAfterARestartAndEndsWithAStream() {
    var machine = Machine(failures: 3, idle: Self.idle, absence: .minutes(5), at: Self.start)
    for event in [Machine.Event.owed, .slot] { _ = machine.handle(event, at: Self.start, random: 0.5) }
    let failed = machine.handle(.failed(Self.soft), at: Self.start, random: 0.5)
    #expect(failed == [.record(failures: 4, next: .seconds(40), Self.soft)])
    #expect(machine.deadline == Self.start + .seconds(40))
    let early = machine.handle(.tick, at: Self.start + .seconds(39), random: 0.5)
    let due = machine.handle(.tick, at: Self.start + .seconds(40), random: 0.5)
    #expect(early == [] && due == [.queue])
    _ = machine.handle(.slot, at: Self.start, random: 0.5)
    let opened = machine.handle(.opened, at: Self.start, random: 0.5)
    #expect(opened == [.recover, .send] && machine.failures == 0)
  }

  @Test func whatTheDNSCannotProveIsFinalTheSecondTime() {
    let doubtful = OpenFailure(isFinal: false, isFinalIfRepeated: true, reason: "there is no such domain")
    var machine = Self.machine(.owed, .slot)
    let first = machine.handle(.failed(doubtful), at: Self.start, random: 0.5)
    #expect(first == [.record(failures: 1, next: .seconds(5), doubtful)])
    for event in [Machine.Event.tick, .slot] { _ = machine.handle(event, at: Self.start + .seconds(5), random: 0.5) }
    let second = machine.handle(.failed(doubtful), at: Self.start + .seconds(5), random: 0.5)
    #expect(second == [.bounce(Self.final), .record(failures: 2, next: .seconds(10), Self.final)])
  }

  @Test func whatWaitsLiveFailsAfterTwentySeconds() {
    var machine = Self.machine(.live, .slot)
    #expect(machine.deadline == Self.start + .seconds(20))
    // A later one does not prolong the wait of the first.
    _ = machine.handle(.live, at: Self.start + .seconds(19), random: 0.5)
    let due = machine.handle(.tick, at: Self.start + .seconds(20), random: 0.5)
    #expect(due == [.refuse(Self.soft)] && machine.phase == .opening)
    // What comes now waits for twenty seconds of its own.
    let later = machine.handle(.live, at: Self.start + .seconds(30), random: 0.5)
    #expect(later == [] && machine.deadline == Self.start + .seconds(50))
    let failed = machine.handle(.failed(Self.soft), at: Self.start + .seconds(31), random: 0.5)
    #expect(failed == [.refuse(Self.soft), .record(failures: 1, next: .seconds(5), Self.soft)])
    // Without rows there is nothing to try for.
    let rested = machine.handle(.tick, at: Self.start + .seconds(36), random: 0.5)
    #expect(rested == [] && machine.phase == .idle)
  }

  /// What nobody needs any more takes no slot from others.
  @Test func aLinkInTheQueueWithNothingLeftToSendLeavesIt() {
    var machine = Self.machine(.live)
    let due = machine.handle(.tick, at: Self.start + .seconds(20), random: 0.5)
    #expect(due == [.withdraw, .refuse(Self.soft)] && machine.phase == .idle)
    // Nothing was tried, so nobody is missed.
    #expect(machine.deadline == nil)
    var withRows = Self.machine(.live, .owed)
    let failed = withRows.handle(.tick, at: Self.start + .seconds(20), random: 0.5)
    #expect(failed == [.refuse(Self.soft)] && withRows.phase == .queued)
    // After a stream that was lost, those of the domain are asked for again.
    var lost = Self.machine(.live, .slot, .opened, .lost, .live)
    let unanswered = lost.handle(.tick, at: Self.start + .seconds(20), random: 0.5)
    #expect(unanswered == [.refuse(Self.soft)] && lost.phase == .queued)
  }

  /// After a restart many domains get their slots later than people wait for an answer.
  @Test func presenceWaitsForItsStream() {
    var machine = Self.machine(.presence)
    #expect(machine.deadline == Self.start + .minutes(5))
    _ = machine.handle(.live, at: Self.start, random: 0.5)
    let due = machine.handle(.tick, at: Self.start + .seconds(20), random: 0.5)
    #expect(due == [.refuseRequests(Self.soft)] && machine.phase == .queued)
    _ = machine.handle(.slot, at: Self.start + .seconds(60), random: 0.5)
    var opened = machine
    let sent = opened.handle(.opened, at: Self.start + .seconds(61), random: 0.5)
    #expect(sent == [.send])
    let failed = machine.handle(.failed(Self.soft), at: Self.start + .seconds(61), random: 0.5)
    #expect(failed == [.refuse(Self.soft), .record(failures: 1, next: .seconds(5), Self.soft)])
    var crowded = Self.machine(.presence)
    _ = crowded.handle(.yield, at: Self.start, random: 0.5)
    #expect(crowded.phase == .idle)
  }

  /// Presence waits no longer than some minutes, and neither does a request that came late.
  @Test func presenceFailsInTheEnd() {
    var machine = Self.machine(.presence)
    let absent = machine.handle(.tick, at: Self.start + .minutes(5), random: 0.5)
    #expect(absent == [.absent] && machine.deadline == Self.start + .minutes(10))
    // Later presence does not prolong the wait of the first.
    for event in [Machine.Event.presence, .live] {
      _ = machine.handle(event, at: Self.start + .seconds(595), random: 0.5)
    }
    let due = machine.handle(.tick, at: Self.start + .minutes(10), random: 0.5)
    #expect(due == [.withdraw, .refuse(Self.soft)] && machine.phase == .idle && machine.deadline == nil)
    var opening = Self.machine(.owed, .slot, .presence)
    let failed = opening.handle(.tick, at: Self.start + .minutes(10), random: 0.5)
    #expect(failed == [.refuse(Self.soft), .absent] && opening.phase == .opening && opening.deadline == nil)
  }

  @Test func aLinkWithoutRowsMakesRoom() {
    let crowded = OpenFailure(isFinal: false, reason: "there are too many links")
    var queued = Self.machine(.live)
    let yielded = queued.handle(.yield, at: Self.start, random: 0.5)
    #expect(yielded == [.withdraw, .refuse(crowded)] && queued.phase == .idle && queued.deadline == nil)
    var backingOff = Self.machine(.live, .slot, .failed(Self.soft))
    let yieldedEarly = backingOff.handle(.yield, at: Self.start, random: 0.5)
    #expect(yieldedEarly == [] && backingOff.phase == .idle)
    var opening = Self.machine(.live, .slot)
    let ignored = opening.handle(.yield, at: Self.start, random: 0.5)
    #expect(ignored == [] && opening.phase == .opening)
  }

  @Test func peopleAreOfflineAfterFiveMinutesOfTryingAndBackWithAStream() {
    var machine = Self.machine(.owed, .slot, .failed(Self.soft))
    let before = machine.handle(.tick, at: Self.start + .seconds(299), random: 0.5)
    #expect(before == [.queue])
    #expect(machine.deadline == Self.start + .seconds(300))
    let after = machine.handle(.tick, at: Self.start + .seconds(300), random: 0.5)
    let again = machine.handle(.tick, at: Self.start + .seconds(900), random: 0.5)
    #expect(after == [.absent] && again == [] && machine.deadline == nil)
    let back = machine.handle(.opened, at: Self.start + .seconds(901), random: 0.5)
    #expect(back == [.withdraw, .recover, .send, .present])
  }

  @Test func peopleOfAServerThatSaysThatItGoesAreOfflineAtOnce() {
    var machine = Self.machine(.live, .slot, .opened)
    let left = machine.handle(.left, at: Self.start, random: 0.5)
    let again = machine.handle(.left, at: Self.start, random: 0.5)
    #expect(left == [.absent] && again == [])
    _ = machine.handle(.closed, at: Self.start, random: 0.5)
    _ = machine.handle(.owed, at: Self.start, random: 0.5)
    _ = machine.handle(.slot, at: Self.start, random: 0.5)
    let back = machine.handle(.opened, at: Self.start, random: 0.5)
    #expect(back == [.send, .present])
  }

  /// Each time costs a presence for all who see its people.
  @Test func aServerThatGoesAgainAndAgainIsBelievedOnceInFiveMinutes() {
    var machine = Self.machine(.live, .slot, .opened, .left, .closed, .owed, .slot, .opened)
    let again = machine.handle(.left, at: Self.start + .seconds(1), random: 0.5)
    #expect(again == [] && machine.deadline == Self.start + .seconds(300))
    // It is there: its people are asked for.
    var lost = machine
    let there = machine.handle(.tick, at: Self.start + .seconds(300), random: 0.5)
    #expect(there == [.present] && machine.deadline == nil)
    let later = machine.handle(.left, at: Self.start + .seconds(301), random: 0.5)
    #expect(later == [.absent])
    // It has gone without coming back: its people are offline, if later than at once.
    _ = lost.handle(.closed, at: Self.start + .seconds(1), random: 0.5)
    let gone = lost.handle(.tick, at: Self.start + .seconds(300), random: 0.5)
    #expect(gone.filter { $0 == .absent }.count == 1)
  }

  @Test func aLinkThatNobodyUsesChangesNobodysPresence() {
    var machine = Self.machine(.live, .slot, .opened, .closed)
    #expect(machine.phase == .idle && machine.deadline == nil)
    let later = machine.handle(.tick, at: Self.start + .hours(1), random: 0.5)
    #expect(later == [])
  }

  @Test func anIdleStreamIsClosedUnlessRowsWait() {
    var machine = Self.machine(.owed, .slot, .opened)
    #expect(machine.deadline == nil)
    _ = machine.handle(.settled, at: Self.start + .seconds(10), random: 0.5)
    _ = machine.handle(.used, at: Self.start + .seconds(60), random: 0.5)
    let due = Self.start + .seconds(60) + Self.idle
    #expect(machine.deadline == due)
    let before = machine.handle(.tick, at: due - .seconds(1), random: 0.5)
    let after = machine.handle(.tick, at: due, random: 0.5)
    #expect(before == [] && after == [.close] && machine.phase == .idle)
    // The end of that stream is no accident.
    let closed = machine.handle(.closed, at: due, random: 0.5)
    #expect(closed == [] && machine.phase == .idle)
  }

  /// The other server may have crashed: its people are asked for, or shown as offline if it does not come back.
  @Test func aStreamThatIsLostIsOpenedAgainEvenIfNothingWaits() {
    var machine = Self.machine(.live, .slot, .opened)
    let lost = machine.handle(.lost, at: Self.start, random: 0.5)
    #expect(lost == [.queue])
    var back = machine
    _ = back.handle(.slot, at: Self.start, random: 0.5)
    let opened = back.handle(.opened, at: Self.start + .seconds(1), random: 0.5)
    #expect(opened == [.send, .present])
    for event in [Machine.Event.slot, .failed(Self.soft)] { _ = machine.handle(event, at: Self.start, random: 0.5) }
    #expect(machine.deadline == Self.start + .seconds(5))
    let rested = machine.handle(.tick, at: Self.start + .seconds(5), random: 0.5)
    #expect(rested == [.queue] && machine.deadline == Self.start + .minutes(5))
    for event in [Machine.Event.slot, .failed(Self.soft)] {
      _ = machine.handle(event, at: Self.start + .minutes(4), random: 0.5)
    }
    let absent = machine.handle(.tick, at: Self.start + .minutes(5), random: 0.5)
    #expect(absent == [.absent] && machine.phase == .idle && machine.deadline == nil)
  }

  @Test func aServerThatClosesEveryStreamIsGivenTime() {
    var machine = Self.machine(.owed, .slot, .opened)
    let first = machine.handle(.closed, at: Self.start + .seconds(1), random: 0.5)
    #expect(first == [.queue])
    for event in [Machine.Event.slot, .opened] { _ = machine.handle(event, at: Self.start + .seconds(2), random: 0.5) }
    let second = machine.handle(.closed, at: Self.start + .seconds(3), random: 0.5)
    let flapping = OpenFailure(isFinal: false, reason: "it closes streams that were just opened")
    #expect(second == [.record(failures: 1, next: .seconds(5), flapping)])
    _ = machine.handle(.tick, at: Self.start + .seconds(8), random: 0.5)
    for event in [Machine.Event.slot, .opened] { _ = machine.handle(event, at: Self.start + .seconds(8), random: 0.5) }
    // One that has lived for a minute is opened again at once.
    let late = machine.handle(.closed, at: Self.start + .seconds(68), random: 0.5)
    #expect(late == [.queue])
  }

  @Test func aStreamThatThisServerClosedIsOpenedAgainAtOnce() {
    var machine = Self.machine(.owed)
    for _ in 1...5 {
      for event in [Machine.Event.slot, .opened] { _ = machine.handle(event, at: Self.start, random: 0.5) }
      let ended = machine.handle(.ended, at: Self.start, random: 0.5)
      #expect(ended == [.queue] && machine.failures == 0)
    }
  }

  @Test func whatADeniedDomainWasOwedIsNotTriedFor() {
    var machine = Self.machine(.owed, .slot, .opened, .denied)
    let closed = machine.handle(.closed, at: Self.start, random: 0.5)
    #expect(closed == [] && !machine.hasRows && machine.deadline == nil)
    let admitted = machine.handle(.live, at: Self.start, random: 0.5)
    #expect(admitted == [.queue])
  }

  @Test func rowsThatWereTakenForgiveAFlap() {
    var machine = Self.machine(.owed, .slot, .opened, .settled, .closed, .owed, .slot, .opened, .settled)
    let closed = machine.handle(.closed, at: Self.start, random: 0.5)
    #expect(closed == [] && machine.phase == .idle)
  }

  @Test func aStopLeavesTheStreamUntilItEnds() {
    var machine = Self.machine(.owed, .slot, .opened, .stop)
    #expect(machine.isOpen && machine.refusal == nil)
    let closed = machine.handle(.closed, at: Self.start, random: 0.5)
    #expect(closed == [] && machine.phase == .stopped && machine.refusal == Self.stopping)
  }

  /// The reason is for administrators and the log: it names addresses, which may be those of a configured route.
  @Test func usersReadNoReason() {
    let soft = StanzaError(
      OpenFailure(isFinal: false, reason: "a.internal at 10.0.0.7 port 5269: refused"), to: "a.example")
    #expect(soft == StanzaError(.remoteServerTimeout, "a.example cannot be reached at the moment."))
    let final = StanzaError(Self.final, to: "a.example")
    #expect(final == StanzaError(.remoteServerNotFound, "a.example cannot be reached."))
  }
}
