import Synchronization
import Testing

@testable import Dialogs

/// The time of an event loop that connections with much input share.
@Suite struct LoopTurnsTests {
  private let start = ContinuousClock.now
  private func at(_ milliseconds: Int) -> ContinuousClock.Instant { start + .milliseconds(milliseconds) }

  /// Runs a slice in which each job takes a millisecond.
  private func slice(_ turns: inout LoopTurns<String, String>, at milliseconds: Int) -> [String] {
    var (jobs, now) = ([String](), milliseconds)
    turns.beginSlice(at: at(now))
    while let job = turns.next(at: at(now)) {
      jobs.append(job)
      now += 1
    }
    return jobs
  }

  @Test func aTurnHasABoundForAllConnectionsTogether() {
    var turns = LoopTurns<String, String>(time: .milliseconds(5))
    // The first look begins it, and only that.
    #expect(turns.worked(until: at(0)) == true)
    #expect(!turns.worked(until: at(4)) && !turns.isOver)
    #expect(!turns.worked(until: at(5)) && turns.isOver)
    turns.turnEnded()
    #expect(!turns.isOver)
    #expect(turns.worked(until: at(6)) == true)
    #expect(!turns.worked(until: at(10)) && !turns.isOver)
  }

  @Test func networksTakeTurnsAndConnectionsWithinThem() {
    var turns = LoopTurns<String, String>(time: .milliseconds(5))
    // A slice is scheduled once.
    #expect(turns.add("a1", of: "a1", in: "network") == true)
    for number in 2...9 { #expect(turns.add("a\(number)", of: "a\(number)", in: "network") == false) }
    #expect(turns.add("b", of: "b", in: "another") == false)
    #expect(turns.add("c", of: "c", in: nil) == false)
    #expect(slice(&turns, at: 0) == ["a1", "b", "c", "a2", "a3"])
    #expect(turns.endSlice() == true)
    // Whoever comes meanwhile is served before the rest.
    #expect(turns.add("d", of: "d", in: "another") == false)
    #expect(slice(&turns, at: 10) == ["a4", "d", "a5", "a6", "a7"])
    #expect(turns.endSlice() == true)
    #expect(slice(&turns, at: 20) == ["a8", "a9"])
    #expect(turns.endSlice() == nil)
    #expect(turns.add("a1", of: "a1", in: "network") == true)
  }

  /// A connection that has more to do waits for the next slice, for which the loop needs no long pause.
  @Test func aConnectionHasOneJobInASlice() {
    var turns = LoopTurns<String, String>(time: .milliseconds(5))
    #expect(turns.add("1", of: "a", in: nil) == true)
    turns.beginSlice(at: at(0))
    #expect(turns.next(at: at(0)) == "1")
    #expect(turns.add("2", of: "a", in: nil) == false)
    #expect(turns.next(at: at(1)) == nil)
    #expect(turns.endSlice() == false)
    #expect(slice(&turns, at: 2) == ["2"])
    #expect(turns.endSlice() == nil)
  }

  /// A slice does one job at least, and a job sees when its time is over.
  @Test func aLongJobEndsTheSlice() {
    var turns = LoopTurns<String, String>(time: .milliseconds(5))
    for name in ["a", "b"] { _ = turns.add(name, of: name, in: nil) }
    turns.beginSlice(at: at(0))
    #expect(turns.next(at: at(0)) == "a")
    #expect(!turns.worked(until: at(9)) && turns.isOver)
    #expect(turns.next(at: at(9)) == nil)
    #expect(turns.endSlice() == true && !turns.isOver)
    #expect(slice(&turns, at: 10) == ["b"])
  }

  /// A lane looks at the clock only after a number of elements.
  @Test func aLaneThatHasLittleToDoLooksAtNoClock() {
    final class Counts: Sendable {
      let looks = Atomic(0)
      let hops = Atomic(0)
    }
    let counts = Counts()
    let lane = Lane(
      schedule: { body in
        counts.hops.add(1, ordering: .relaxed)
        body()
      }, pause: { $0() }, turnPause: { _, body in body() },
      now: {
        counts.looks.add(1, ordering: .relaxed)
        return .now
      })
    for _ in 1..<Limits.laneTurnStep { #expect(!lane.turns.worked(1)) }
    #expect(counts.looks.load(ordering: .relaxed) == 0 && counts.hops.load(ordering: .relaxed) == 0)
    #expect(!lane.turns.worked(1))
    #expect(counts.looks.load(ordering: .relaxed) == 1 && counts.hops.load(ordering: .relaxed) == 1)
  }
}
