import Dialogs
import Testing

@testable import XMPPDoor

/// A session's place in the log: nothing told twice, nothing left out.
@Suite struct PaceTests {
  /// A pace that moves within an expectation.
  private final class Walk {
    var pace: Pace
    init(missed: Position? = nil) { pace = Pace(missed: missed) }
    func arrived(_ position: Position, lags: Bool) -> Bool { pace.arrived(position, lags: lags) }
    func resume() -> Position? { pace.resume() }
    func told(through last: Position?, isFull: Bool, lags: Bool) -> Position? {
      pace.told(through: last, isFull: isFull, lags: lags)
    }
    func replay(after position: Position) { pace.replay(after: position) }
    func replayed(through last: Position?, isFull: Bool) -> Position? { pace.replayed(through: last, isFull: isFull) }
    func confirmed(_ position: Position) -> Position? { pace.confirmed(position) }
  }

  private func at(_ number: Int64) -> Position { Position(number) }

  @Test func aSessionThatKeepsUpIsToldAtOnce() {
    let walk = Walk()
    #expect(walk.arrived(at(1), lags: false))
    #expect(walk.arrived(at(2), lags: false))
    #expect(walk.pace == Pace())
    #expect(walk.pace.missed == nil)
    #expect(walk.resume() == nil)
  }

  @Test func aClientThatLagsGetsTheRestFromTheLog() {
    let walk = Walk()
    #expect(walk.arrived(at(4), lags: false))
    #expect(!walk.arrived(at(5), lags: true))
    // Once behind, what comes live is behind it too, whether the client lags or not.
    #expect(!walk.arrived(at(6), lags: false))
    #expect(walk.pace.missed == at(4))
    #expect(walk.resume() == at(4))
    #expect(walk.resume() == nil)
    // A page up to 6 and no live entry since: it follows again.
    #expect(walk.told(through: at(6), isFull: false, lags: false) == nil)
    #expect(walk.pace.state == .following)
    #expect(walk.arrived(at(7), lags: false))
  }

  @Test func whatIsCommittedWhileItReadsIsReadToo() {
    let walk = Walk(missed: at(10))
    #expect(walk.resume() == at(10))
    #expect(!walk.arrived(at(15), lags: false))
    #expect(walk.told(through: at(14), isFull: false, lags: false) == at(14))
    #expect(walk.pace.state == .reading(from: at(14), head: at(15)))
    #expect(walk.told(through: at(15), isFull: false, lags: false) == nil)
    #expect(walk.pace.state == .following)
  }

  @Test func aFullPageIsFollowedByAnother() {
    let walk = Walk(missed: at(0))
    #expect(walk.resume() == at(0))
    #expect(walk.told(through: at(200), isFull: true, lags: false) == at(200))
    #expect(walk.told(through: at(230), isFull: false, lags: false) == nil)
    #expect(walk.pace.state == .following)
  }

  @Test func aClientThatLagsAgainWaitsWhereItIs() {
    let walk = Walk(missed: at(0))
    _ = walk.resume()
    #expect(walk.told(through: at(200), isFull: true, lags: true) == nil)
    #expect(walk.pace.state == .behind(from: at(200)))
    #expect(walk.resume() == at(200))
  }

  @Test func anEmptyPageEndsTheReading() {
    let walk = Walk(missed: at(3))
    _ = walk.resume()
    #expect(!walk.arrived(at(4), lags: false))
    #expect(walk.told(through: nil, isFull: false, lags: false) == nil)
    #expect(walk.pace.state == .following)
  }

  @Test func aReplayThatFitsOnePageGoesOver() {
    let walk = Walk()
    walk.replay(after: at(20))
    #expect(walk.pace.missed == at(20))
    #expect(walk.replayed(through: at(30), isFull: false) == nil)
    #expect(walk.pace.state == .following)
  }

  /// A copy of what the user says elsewhere, say: the page of messages has none.
  @Test func whatIsCommittedDuringAReplayIsReadBehindIt() {
    let walk = Walk()
    walk.replay(after: at(20))
    #expect(!walk.arrived(at(31), lags: false))
    #expect(!walk.arrived(at(33), lags: false))
    // The page has messages up to 32: the last was committed while it was read.
    #expect(walk.pace.replays(at(30)))
    #expect(!walk.pace.replays(at(32)))
    #expect(walk.replayed(through: at(32), isFull: false) == at(30))
    #expect(walk.pace.state == .reading(from: at(30), head: at(33)))
  }

  @Test func aLongReplayWaitsForItsConfirmation() {
    let walk = Walk()
    walk.replay(after: at(0))
    #expect(walk.replayed(through: at(1000), isFull: true) == nil)
    #expect(walk.pace.waits)
    #expect(!walk.arrived(at(1501), lags: false))
    #expect(walk.confirmed(at(999)) == nil)
    #expect(walk.confirmed(at(1000)) == at(1000))
    #expect(!walk.pace.waits)
    // Confirming more while the page is read starts no second reading.
    #expect(walk.confirmed(at(1000)) == nil)
    #expect(walk.replayed(through: at(1500), isFull: false) == at(1500))
    #expect(walk.pace.state == .reading(from: at(1500), head: at(1501)))
  }

  @Test func aFullPageThatReachesWhatCameLiveIsTheLast() {
    let walk = Walk()
    walk.replay(after: at(0))
    #expect(!walk.arrived(at(900), lags: false))
    #expect(walk.replayed(through: at(1000), isFull: true) == at(899))
    #expect(walk.pace.state == .reading(from: at(899), head: at(900)))
  }

  @Test func aSessionThatBreaksOffWhileReadingReadsAgainFromThere() {
    let walk = Walk(missed: at(7))
    _ = walk.resume()
    #expect(!walk.arrived(at(9), lags: false))
    #expect(Pace(missed: walk.pace.missed) == Pace(missed: at(7)))
  }
}
