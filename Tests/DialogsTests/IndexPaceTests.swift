import Testing

@testable import Dialogs

@Suite struct IndexPaceTests {
  private let start = ContinuousClock.now
  private func at(_ milliseconds: Int) -> ContinuousClock.Instant { start + .milliseconds(milliseconds) }

  @Test func nobodyWaitsWhileTheIndexIsUpToDate() {
    let pace = IndexPace()
    for time in [0, 0, 1, 1] {
      #expect(pace.next(now: at(time)) == at(time))
      pace.wrote(in: .milliseconds(10), isMore: false, now: at(time))
    }
  }

  @Test func aPauseFollowsEachPieceButTheLast() {
    let pace = IndexPace()
    #expect(pace.next(now: at(0)) == at(0))
    pace.wrote(in: .milliseconds(10), isMore: true, now: at(12))
    #expect(pace.next(now: at(12)) == at(12 + 10 * Limits.indexPauseShare))
    pace.wrote(in: .milliseconds(10), isMore: false, now: at(50))
    #expect(pace.next(now: at(51)) == at(51))
  }

  @Test func manySearchesHaveThePaceOfOne() {
    let pace = IndexPace()
    _ = pace.next(now: at(0))
    pace.wrote(in: .milliseconds(10), isMore: true, now: at(10))
    let times = (0..<5).map { _ in pace.next(now: at(10)) }
    let step = 10 * (1 + Limits.indexPauseShare)
    #expect(times == (1...5).map { at($0 * step) })
  }

  @Test func thePauseAfterALongPieceIsBounded() {
    let pace = IndexPace()
    _ = pace.next(now: at(0))
    pace.wrote(in: .seconds(60), isMore: true, now: at(60_000))
    #expect(pace.next(now: at(60_000)) == at(60_000) + Limits.indexPauseMax)
  }
}
