import Testing

@testable import Basics

@Suite struct LogPaceTests {
  /// A reason has so many lines in an interval, and all reasons together so many; the others are counted.
  @Test func boundsLinesOfAReasonAndOfAll() {
    var pace = LogPace(interval: .seconds(60), linesOfReasonMax: 2, linesMax: 5)
    let start = ContinuousClock.now
    #expect((0..<4).map { _ in pace.note("token-invalid", now: start) } == [0, 0, nil, nil])
    #expect(pace.note("dialog-unknown", now: start + .seconds(59)) == 0)
    #expect((0..<100).compactMap { pace.note("code \($0)", now: start + .seconds(59)) } == [0, 0])
    #expect(pace.note("token-invalid", now: start + .seconds(60)) == 100)
    #expect(pace.note("token-invalid", now: start + .seconds(61)) == 0)
    #expect(pace.note("token-invalid", now: start + .seconds(62)) == nil)
    #expect(pace.note("token-invalid", now: start + .seconds(120)) == 1)
  }
}
