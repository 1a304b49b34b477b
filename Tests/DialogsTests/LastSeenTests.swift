import Basics
import Testing

@testable import Dialogs

@Suite struct LastSeenTests {
  private func time(_ number: Int) -> Timestamp { Timestamp(milliseconds: Int64(number)) }
  private func gone(_ number: Int) -> LastPresence { LastPresence(time: time(number), status: "gone \(number)") }

  /// A reader whose snapshot is from before the commit finds the time here, and not in its row.
  @Test func aTimeStaysBehindItsCommit() {
    var seen = LastSeen()
    seen[UserID(1)] = gone(10)
    seen.wasStored(time(10), of: UserID(1))
    #expect(seen[UserID(1)] == gone(10))
  }

  @Test func itGoesWhenManyOthersHaveBeenStored() {
    var seen = LastSeen()
    for number in 1...(2 * Limits.lastSeenStoredMax) {
      seen[UserID(Int64(number))] = gone(number)
      seen.wasStored(time(number), of: UserID(Int64(number)))
    }
    let kept = (1...(2 * Limits.lastSeenStoredMax)).filter { seen[UserID(Int64($0))] != nil }
    #expect(kept == Array(Limits.lastSeenStoredMax + 1...2 * Limits.lastSeenStoredMax))
  }

  @Test func aNewerTimeThatIsNotStoredStays() {
    var seen = LastSeen()
    seen[UserID(1)] = gone(10)
    seen.wasStored(time(10), of: UserID(1))
    seen[UserID(1)] = gone(20)
    for number in 2...(Limits.lastSeenStoredMax + 2) { seen.wasStored(time(number), of: UserID(Int64(number))) }
    #expect(seen[UserID(1)] == gone(20))
  }

  @Test func aTextWithoutBoundIsNotKept() {
    let longest = String(repeating: "é", count: Limits.statusBytesMax / 2)
    #expect(LastPresence(time: time(1), status: longest).status == longest)
    #expect(LastPresence(time: time(1), status: longest + "x").status == nil)
  }
}
