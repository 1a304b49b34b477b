import Basics
import Testing

@Suite struct NetworkPaceTests {
  private let start = ContinuousClock.now

  @Test func manyBeginAtOnceAndTheOthersOneByOne() {
    var pace = NetworkPace(perSecond: 10, burst: 3, networksMax: 10)
    let waits = (0..<5).map { _ in pace.wait("a", now: start) }
    #expect(waits == [.zero, .zero, .zero, .milliseconds(100), .milliseconds(200)])
    // Other networks do not wait for it.
    let other = pace.wait("b", now: start)
    #expect(other == .zero)
    // After a second all is as before.
    let later = (0..<4).map { _ in pace.wait("a", now: start + .seconds(1)) }
    #expect(later == [.zero, .zero, .zero, .milliseconds(100)])
  }

  /// Who leaves before the turn has cost nothing, and those who come afterwards do not wait for it.
  @Test func whoLeavesMakesRoom() {
    var pace = NetworkPace(perSecond: 10, burst: 1, networksMax: 10)
    let waits = (0..<1_000).map { _ in pace.wait("a", now: start) }
    #expect(waits.last == .milliseconds(99_900))
    for _ in 0..<999 { pace.cancel("a") }
    let next = pace.wait("a", now: start)
    #expect(next == .milliseconds(100))
  }

  /// 2,000 people behind one address are back within 60 s of a restart, each with three connections.
  @Test func aSchoolIsBackAtOnce() {
    var pace = NetworkPace(perSecond: 100, burst: 2_000, networksMax: 10)
    let waits = (0..<6_000).map { _ in pace.wait("school", now: start) }
    #expect(waits[1_999] == .zero)
    #expect(waits.last == .seconds(40))
    var requests = NetworkPace(perSecond: 200, burst: 300, networksMax: 10)
    #expect((0..<6_000).map { _ in requests.wait("school", now: start) }.last == .milliseconds(28_500))
  }

  @Test func fullAllowancesAreForgotten() {
    var pace = NetworkPace(perSecond: 1, burst: 1, networksMax: 2)
    let first = ["a", "b"].map { pace.wait($0, now: start) }
    #expect(first == [.zero, .zero])
    // Only `b` has something to remember a second later.
    let again = pace.wait("b", now: start)
    #expect(again == .seconds(1))
    let later = ["c", "b"].map { pace.wait($0, now: start + .seconds(1)) }
    #expect(later == [.zero, .seconds(1)])
  }
}
