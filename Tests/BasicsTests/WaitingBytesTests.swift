import Synchronization
import Testing

@testable import Basics

@Suite struct WaitingBytesTests {
  private final class Record: Sendable {
    private let list = Mutex<[String]>([])
    var names: [String] { list.withLock { $0 } }
    func add(_ name: String) { list.withLock { $0.append(name) } }
  }

  /// An owner has at most its own bound, and a share of what all leave free: of 400 bytes a quarter, then a quarter of 300, and so on.
  @Test func anOwnerHasAShareOfWhatIsFree() {
    let refused = Record()
    let waiting = WaitingBytes(bytesMax: 400, ownerBytesMax: 90, ownerShare: 4) { refused.add($0) }
    let first = [waiting.take(91, of: "a"), waiting.take(90, of: "a"), waiting.take(1, of: "a")]
    #expect(first == [false, true, false] && refused.names == ["a", "a"])
    // 310 are free.
    let second = [waiting.take(78, of: "b"), waiting.take(77, of: "b")]
    #expect(second == [false, true] && refused.names == ["a", "a", "b"])
    // Many owners leave some of it to one more.
    for number in 0..<100 { _ = waiting.take(40, of: "c\(number)") }
    let small = waiting.take(10, of: "d")
    #expect(small && waiting.bytes < 400)
  }

  /// What was found to fit is counted later, also where it fits no more.
  @Test func whatFitsIsCountedLater() {
    let refused = Record()
    let waiting = WaitingBytes(bytesMax: 400, ownerBytesMax: 90, ownerShare: 4) { refused.add($0) }
    let fits = [waiting.takes(90, of: "a"), waiting.takes(91, of: "a")]
    #expect(fits == [true, false] && waiting.bytes == 0 && refused.names == ["a"])
    waiting.add(90, of: "a")
    waiting.add(90, of: "a")
    let isMore = waiting.takes(1, of: "a")
    #expect(!isMore && waiting.bytes == 180)
    // 220 are free.
    let others = [waiting.takes(56, of: "b"), waiting.takes(55, of: "b")]
    #expect(others == [false, true])
    waiting.release(180, of: "a")
    #expect(waiting.bytes == 0)
  }

  @Test func whatIsReleasedMayBeTakenAgain() {
    let waiting = WaitingBytes(ownerBytesMax: 90)
    let taken = [waiting.take(60, of: "a"), waiting.take(60, of: "a"), waiting.take(60, of: "b")]
    #expect(taken == [true, false, true] && waiting.bytes == 120)
    waiting.release(60, of: "a")
    let again = waiting.take(90, of: "a")
    #expect(again && waiting.bytes == 150)
    waiting.release(90, of: "a")
    waiting.release(60, of: "b")
    #expect(waiting.bytes == 0)
  }

  /// What others have taken since leaves an owner less than it holds; it may replace that all the same, by nothing larger.
  @Test func anOwnerReplacesWhatItHolds() {
    let waiting = WaitingBytes(bytesMax: 400, ownerBytesMax: 100, ownerShare: 4)
    let taken = [waiting.take(80, of: "a"), waiting.take(80, of: "b"), waiting.take(60, of: "c")]
    #expect(taken == [true, true, true] && waiting.bytes == 220)
    // 180 are free.
    let more = [
      waiting.take(1, of: "a"), waiting.take(31, of: "a", replacing: 30), waiting.take(30, of: "a", replacing: 30),
    ]
    #expect(more == [false, false, true])
    waiting.release(30, of: "a")
    #expect(waiting.bytes == 220)
  }
}
