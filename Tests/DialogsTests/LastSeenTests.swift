import Basics
import Testing

@testable import Dialogs

@Suite struct LastSeenTests {
  private func time(_ number: Int) -> Timestamp { Timestamp(milliseconds: Int64(number)) }

  /// A reader whose snapshot is from before the commit finds the time here, and not in its row.
  @Test func aTimeStaysBehindItsCommit() {
    var seen = LastSeen()
    seen[UserID(1)] = time(10)
    seen.wasStored(time(10), of: UserID(1))
    #expect(seen[UserID(1)] == time(10))
  }

  @Test func itGoesWhenManyOthersHaveBeenStored() {
    var seen = LastSeen()
    for number in 1...(2 * Limits.lastSeenStoredMax) {
      seen[UserID(Int64(number))] = time(number)
      seen.wasStored(time(number), of: UserID(Int64(number)))
    }
    let kept = (1...(2 * Limits.lastSeenStoredMax)).filter { seen[UserID(Int64($0))] != nil }
    #expect(kept == Array(Limits.lastSeenStoredMax + 1...2 * Limits.lastSeenStoredMax))
  }

  @Test func aNewerTimeThatIsNotStoredStays() {
    var seen = LastSeen()
    seen[UserID(1)] = time(10)
    seen.wasStored(time(10), of: UserID(1))
    seen[UserID(1)] = time(20)
    for number in 2...(Limits.lastSeenStoredMax + 2) { seen.wasStored(time(number), of: UserID(Int64(number))) }
    #expect(seen[UserID(1)] == time(20))
  }
}
